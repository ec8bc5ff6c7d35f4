package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// figure is the result of a peer in a scenario.
type figure struct {
	rate, ratio float64 // medians; ratio is that to the baseline of the store in the same round
	err         error
}

// measurement is the duration of a measurement.
type measurement struct {
	rounds int
	slice  time.Duration
}

// compare measures all services in a scenario, in turn.
func (m measurement) compare(ctx context.Context, sc scenario, all []*service, baseline func(s *service) *service) map[*service]figure {
	rates, figures := map[*service][]float64{}, map[*service]figure{}
	for _, s := range all {
		if err := s.try(ctx, sc); err != nil {
			figures[s] = figure{err: err}
		}
	}
	for round := -1; round < m.rounds && ctx.Err() == nil; round++ { // the first warms up
		order := slices.Clone(all)
		if round%2 != 0 {
			slices.Reverse(order)
		}
		for _, s := range order {
			if figures[s].err != nil {
				continue
			}
			rate, err := s.rate(ctx, sc, m.slice)
			if ctx.Err() != nil {
				break // what was measured before counts
			}
			if err != nil {
				figures[s] = figure{err: err}
			} else if round >= 0 {
				rates[s] = append(rates[s], rate)
			}
		}
	}
	for _, s := range all {
		base := rates[baseline(s)]
		if figures[s].err != nil || len(rates[s]) == 0 {
			figures[s] = figure{err: cmp.Or(ctx.Err(), figures[s].err)}
			continue
		}
		var ratios []float64
		for i, rate := range rates[s] {
			if i < len(base) {
				ratios = append(ratios, rate/base[i])
			}
		}
		figures[s] = figure{rate: median(rates[s]), ratio: median(ratios)}
	}
	return figures
}

// median is 0 without values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}

// try signs in, sends one request and looks at the answer.
func (s *service) try(ctx context.Context, sc scenario) error {
	if err := s.sendAll(ctx, s.SignIn); err != nil {
		return err
	}
	n := 0
	if sc.Creates {
		n, s.created = s.created, s.created+sc.Objects
	}
	answer, value, err := s.request(ctx, sc, n)
	if err != nil {
		return err
	}
	return s.Scenarios[sc.Key].check(answer, value)
}

// request sends the request of a scenario for the object n, or those from it on.
func (s *service) request(ctx context.Context, sc scenario, n int) ([]byte, values, error) {
	r, object := s.Scenarios[sc.Key], s.data.object
	if sc.Creates {
		object = s.data.newObject
	} else {
		n = n * 7919 % s.data.objects
	}
	if len(r.Item.pieces) > 0 {
		answer, err := s.sendMany(ctx, r, n, sc.Objects, object)
		return answer, s.value, err
	}
	value := s.with(object(n))
	answer, err := s.send(ctx, r, value)
	return answer, value, err
}

// rate returns how many objects are served in a second.
func (s *service) rate(ctx context.Context, sc scenario, slice time.Duration) (float64, error) {
	var (
		wait   sync.WaitGroup
		next   atomic.Int64
		failed atomic.Pointer[error]
	)
	if sc.Creates {
		next.Store(int64(s.created))
	}
	first, began := next.Load(), time.Now()
	for range sc.Clients {
		wait.Go(func() {
			for time.Since(began) < slice && failed.Load() == nil {
				if _, _, err := s.request(ctx, sc, int(next.Add(int64(sc.Objects)))-sc.Objects); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	wait.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	if sc.Creates {
		s.created = int(next.Load())
	}
	return float64(next.Load()-first) / time.Since(began).Seconds(), nil
}
