package device

import (
	"encoding/json"
	"net/http"

	"marquee/engine/rest"
)

// Route serves the lists of devices.
func Route() rest.Route {
	return rest.Route{Path: "/api/v1/devices", Methods: []string{http.MethodGet, http.MethodHead}, Serve: func(r *rest.Call) error {
		if err := r.Only("includeHidden"); err != nil {
			return err
		}
		if _, err := r.Boolean("includeHidden"); err != nil { // no device is hidden
			return err
		}
		groups := Groups()
		body, err := json.Marshal(map[string]any{"results": groups, "totalCount": len(groups)})
		if err != nil {
			return err
		}
		r.Answer(http.StatusOK, body)
		return nil
	}}
}
