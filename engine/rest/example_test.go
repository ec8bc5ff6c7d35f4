package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"marquee/engine/rest"
)

// A route that everybody may read. Without Public, it would need an access token,
// and Call.Caller would be its user.
func ExampleRoute() {
	beds := rest.Route{
		Path:    "/api/v1/wards/{ward}/beds",
		Methods: []string{http.MethodGet, http.MethodHead},
		Public:  true,
		Serve: func(r *rest.Call) error {
			if err := r.Parameters().Only("free"); err != nil {
				return err
			}
			free, err := r.Parameters().Boolean("free")
			if err != nil {
				return err
			}
			body, err := json.Marshal(map[string]any{"ward": r.PathValue("ward"), "free": free})
			if err != nil {
				return err
			}
			r.Answer(http.StatusOK, body)
			return nil
		},
	}
	server, err := rest.New(rest.Config{Routes: []rest.Route{beds}})
	if err != nil {
		panic(err)
	}
	for _, request := range []*http.Request{
		httptest.NewRequest(http.MethodGet, "/api/v1/wards/east/beds?free=true", nil),
		httptest.NewRequest(http.MethodDelete, "/api/v1/wards/east/beds", nil),
	} {
		response := httptest.NewRecorder()
		server.ServeHTTP(response, request)
		fmt.Println(response.Code, response.Header().Get("Allow"), response.Header().Get("Content-Type"))
		if response.Code == http.StatusOK {
			fmt.Println(response.Body)
		}
	}
	// Output:
	// 200  application/json
	// {"free":true,"ward":"east"}
	// 405 GET, HEAD, OPTIONS application/problem+json
}
