package device

import (
	"encoding/json"
	"net/http"

	"marquee/engine/query"
	"marquee/engine/rest"
)

// Route serves the lists of devices.
func Route() rest.Route {
	return rest.Route{Path: "/api/v1/devices", Methods: []string{http.MethodGet, http.MethodHead}, Serve: func(r *rest.Call) error {
		if err := r.Only("includeHidden", "page", "pageSize"); err != nil {
			return err
		}
		paging, err := query.ParsePaging(r.Parameters())
		if err != nil {
			return err
		}
		if _, err := r.Boolean("includeHidden"); err != nil { // no device is hidden
			return err
		}
		groups := Groups()
		from := min(paging.Page*paging.PageSize, len(groups))
		page := groups[from:min(from+paging.PageSize, len(groups))]
		answer := map[string]any{"results": page, "totalCount": len(groups)}
		_, numbered := r.Parameter("page")
		if _, sized := r.Parameter("pageSize"); numbered || sized {
			answer["page"], answer["pageSize"] = paging.Page, paging.PageSize
		}
		body, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		r.Answer(http.StatusOK, body)
		return nil
	}}
}
