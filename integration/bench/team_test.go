package bench

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// teams is the number of teams, each of which owns as many objects as the others.
const teams = 1000

// BenchmarkTeamList compares lists in default order, with an exact count, of members of
// one team and of thirty with that of a user who sees the network.
func BenchmarkTeamList(b *testing.B) { compareTeams(b, fresh(b)) }

// BenchmarkMongoDBTeamList is the same on MongoDB.
func BenchmarkMongoDBTeamList(b *testing.B) {
	s, _ := onMongoDB(b, nil)
	compareTeams(b, s)
}

func compareTeams(b *testing.B, s *service) {
	members := s.teams(b)
	large := benchObjects(b)
	began := time.Now()
	s.load(b, large, teams)
	b.Logf("loaded %d objects in %.0f s", large, time.Since(began).Seconds())
	compareScopes(b, s, "team/network", members, "lineitems", "li-00000000")
}

// compareScopes compares lists of the objects of a type, of which one has an id, for two users
// by their names with those of a user who sees the network.
func compareScopes(b *testing.B, s *service, ratio string, members map[string]string, name, id string) {
	for _, kind := range []struct {
		name string
		// before runs before each call, and is not measured.
		before func(n int)
	}{
		{"warm", func(int) {}},
		// A count that is kept is of no use after a write.
		{"cold", func(n int) { s.write(b, name, []map[string]any{{"id": id, "name": fmt.Sprint(n)}}) }},
	} {
		for _, whose := range []string{"one", "thirty"} {
			b.Run(kind.name+"/"+whose, func(b *testing.B) {
				n := int(time.Now().UnixNano())
				latency := func(token string) func() time.Duration {
					as := *s
					as.token = token
					return func() time.Duration {
						n++
						kind.before(n)
						return as.page(b, "/api/v1/"+name+"?context=main")
					}
				}
				member, all := latency(members[whose]), latency(s.token)
				interleaved(3, member, all)
				b.ResetTimer()
				for range b.N {
					ours, baseline := typical(40, member, all)
					b.ReportMetric(float64(ours)/float64(baseline), ratio)
					b.ReportMetric(milliseconds(ours), "ms/page")
				}
			})
		}
	}
}

// teams stores teams with an order each, whose line items are theirs, and members of
// one and of thirty, whose tokens it returns.
func (s *service) teams(tb testing.TB) map[string]string {
	tokens := s.members(tb, "TEAM")
	s.write(tb, "advertisers", []map[string]any{{"id": "a", "name": "Advertiser"}})
	var list, orders []map[string]any
	for i := range teams {
		team := map[string]any{"id": fmt.Sprintf("t%d", i), "name": fmt.Sprintf("Team %d", i)}
		switch {
		case i == 500:
			team["users"] = []any{"one", "thirty"}
		case i%33 == 7 && i < 29*33:
			team["users"] = []any{"thirty"}
		}
		list = append(list, team)
		orders = append(orders, map[string]any{"id": fmt.Sprintf("o%d", i), "name": fmt.Sprintf("Order %d", i), "advertiser": "a", "team": team["id"]})
	}
	s.write(tb, "teams", list)
	s.write(tb, "orders", orders)
	return tokens
}

// members stores the users one and thirty, whose role has a scope, and returns their tokens.
func (s *service) members(tb testing.TB, scope string) map[string]string {
	s.write(tb, "roles", []map[string]any{{"id": "member", "name": "Member", "scope": scope}})
	tokens := map[string]string{}
	for _, name := range []string{"one", "thirty"} {
		s.write(tb, "users", []map[string]any{{"id": name, "username": name, "password": "a password to test with", "userRoles": map[string]any{
			"rolesByNetwork": []any{map[string]any{"network": network, "roles": []any{map[string]any{"role": "member"}}}}}}})
		answer, err := s.auth.Sessions.SignIn(context.Background(), "", name, "a password to test with", network)
		if err != nil {
			tb.Fatal(err)
		}
		tokens[name] = answer.AccessToken
	}
	return tokens
}
