// Package lookup answers the read-only lists of the service: devices, and the
// cities and regions that targeting names (specification, parts 4.4 and 4.5).
package lookup

import (
	"encoding/json"
	"net/http"

	"marquee/engine/rest"
	"marquee/resources/device"
)

var reading = []string{http.MethodGet, http.MethodHead}

// Devices is the route of the lists of devices.
func Devices() rest.Route {
	return rest.Route{Path: "devices", Methods: reading, Serve: func(r *rest.Call) error {
		if err := r.Only("context", "includeHidden"); err != nil {
			return err
		}
		if _, err := r.Boolean("includeHidden"); err != nil { // nothing here is hidden
			return err
		}
		if _, err := r.Network(nil); err != nil {
			return err
		}
		groups := device.Groups()
		return answer(r, map[string]any{"results": groups, "totalCount": len(groups)})
	}}
}

func answer(r *rest.Call, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	r.Answer(http.StatusOK, body)
	return nil
}
