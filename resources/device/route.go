package device

import (
	"net/http"
	"strconv"

	"marquee/engine/query"
	"marquee/engine/rest"
)

// Route serves the lists of devices.
func Route() rest.Route {
	return rest.Route{Path: "/api/v1/devices", Methods: []string{http.MethodGet, http.MethodHead}, Operation: rest.OperationSearch, Serve: func(r *rest.Call) error {
		if err := r.Parameters().Only("includeHidden", "page", "pageSize"); err != nil {
			return err
		}
		paging, err := query.ParsePaging(r.Parameters())
		if err != nil {
			return err
		}
		if _, err := r.Parameters().Boolean("includeHidden"); err != nil { // no device is hidden
			return err
		}
		groups := Groups()
		from := min(paging.Page*paging.PageSize, len(groups))
		page := groups[from:min(from+paging.PageSize, len(groups))]
		answer := map[string]any{"results": page, "totalCount": len(groups)}
		if paging.Named {
			answer["page"], answer["pageSize"] = paging.Page, paging.PageSize
		}
		if from+len(page) < len(groups) {
			r.LinkNext("page", strconv.Itoa(paging.Page+1))
		}
		return r.AnswerJSON(answer)
	}}
}
