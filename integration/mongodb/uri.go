package mongodb

import "strings"

// withDatabase is a connection string with another database. Where the one that
// it replaces was also what users are looked up in, it stays so.
func withDatabase(uri, database string) string {
	scheme, rest, _ := strings.Cut(uri, "://")
	rest, query, _ := strings.Cut(rest, "?")
	hosts, before, _ := strings.Cut(rest, "/")
	if strings.Contains(hosts, "@") && !strings.Contains(strings.ToLower(query), "authsource=") {
		if before == "" {
			before = "admin"
		}
		query = strings.TrimPrefix(query+"&authSource="+before, "&")
	}
	if query != "" {
		query = "?" + query
	}
	return scheme + "://" + hosts + "/" + database + query
}
