package rest

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/listen"
	"marquee/engine/message"
)

// RateLimits bound what callers and addresses can use in a time. Each server counts
// for itself.
type RateLimits struct {
	// Caller is the limit of a caller, with all of the caller's access tokens
	// together, so that another sign-in does not reset it.
	Caller Rate
	// Address is the limit of an address (IPv6: of a /64 network), with and without
	// a token.
	Address Rate
}

// Rate is a number of objects in a time: those that a request writes, or that the
// response to it lists, and one for any other request. The zero value is no limit.
//
// It is a bucket that holds Objects and is refilled at a constant rate, in Window if
// it was empty. A request is served while the bucket holds one object. What it costs
// beyond that is taken from what will be refilled, up to a bound: a request costs
// Objects at most, and once the requests in progress have ended, a bucket holds one
// object again within Window, whatever they cost.
type Rate struct {
	Objects int64
	Window  time.Duration
}

const (
	maxRateObjects = 1_000_000_000
	maxRateWindow  = 24 * time.Hour
)

// ParseRate parses a rate such as 6000/1m: a number of objects, and a time of one
// second to 24 hours, in which the unit alone means one of it (6000/m).
func ParseRate(text string) (Rate, error) {
	count, window, ok := strings.Cut(text, "/")
	objects, err := strconv.ParseInt(count, 10, 64)
	if window != "" && strings.Trim(window[:1], "0123456789.+-") != "" {
		window = "1" + window
	}
	d, wrong := time.ParseDuration(window)
	rate := Rate{objects, d}
	if !ok || err != nil || wrong != nil || objects == 0 || rate.check() != nil {
		return Rate{}, fmt.Errorf("%q is not a number of objects and a time, such as 6000/1m", text)
	}
	return rate, nil
}

func (r Rate) check() error {
	if r == (Rate{}) {
		return nil
	}
	if r.Objects < 1 || r.Objects > maxRateObjects || r.Window < time.Second || r.Window > maxRateWindow || r.Window%time.Second != 0 {
		return errors.New("a rate limit must be of 1 to 1000000000 objects in whole seconds, from 1 s to 24 h")
	}
	return nil
}

// The response fields of the Internet draft "RateLimit header fields for HTTP"
// (draft-ietf-httpapi-ratelimit-headers-11), and the names of the policies in them.
const (
	rateLimitHeader       = "RateLimit"
	rateLimitPolicyHeader = "RateLimit-Policy"
	callerPolicy          = "objects-per-caller"
	addressPolicy         = "objects-per-address"
)

// limiters are those of a server, nil for those without a limit.
type limiters struct {
	caller, address *limiter
	policies        string // the value of RateLimit-Policy
}

func newLimiters(rates RateLimits) (l limiters, err error) {
	if err := errors.Join(rates.Caller.check(), rates.Address.check()); err != nil {
		return l, err
	}
	began := time.Now()
	clock := func() time.Duration { return time.Since(began) }
	l.caller, l.address = newLimiter(callerPolicy, rates.Caller, clock), newLimiter(addressPolicy, rates.Address, clock)
	var policies []string
	for _, limiter := range []*limiter{l.caller, l.address} {
		if limiter != nil {
			policies = append(policies, fmt.Sprintf("%q;q=%d;w=%d", limiter.name, limiter.rate.Objects, int64(limiter.rate.Window.Seconds())))
		}
	}
	l.policies = strings.Join(policies, ", ")
	return l, nil
}

// maxBuckets is the maximum number of buckets a limiter keeps. Full ones need not be kept.
const maxBuckets = 1 << 16

// refusals returns the number of calls that were refused; a nil limiter refuses none.
func (l *limiter) refusals() int64 {
	if l == nil {
		return 0
	}
	return l.refused.Load()
}

// limiter limits the rate of each of many keys.
type limiter struct {
	name string
	rate Rate
	// now is the time since any moment.
	now func() time.Duration

	// refused is the number of calls that were refused.
	refused atomic.Int64

	mu      sync.Mutex
	buckets map[string]bucket
}

// bucket has the number of objects at a time; a negative number is a debt.
type bucket struct {
	level float64
	at    time.Duration
	// open is what calls in progress have taken. They may return some of it, so the
	// debt is bounded without it.
	open float64
}

// newLimiter returns nil for the zero Rate.
func newLimiter(name string, rate Rate, now func() time.Duration) *limiter {
	if rate == (Rate{}) {
		return nil
	}
	return &limiter{name: name, rate: rate, now: now, buckets: map[string]bucket{}}
}

// perSecond is the number of objects refilled in a second.
func (l *limiter) perSecond() float64 { return float64(l.rate.Objects) / l.rate.Window.Seconds() }

// level is the number of objects in a bucket at a time.
func (l *limiter) level(b bucket, now time.Duration) float64 {
	return min(float64(l.rate.Objects), b.level+(now-b.at).Seconds()*l.perSecond())
}

// admit takes one object from the bucket of a key. If it has none, wait is how long it
// takes until it has one.
func (l *limiter) admit(key string) (level float64, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.find(key)
	if b.level < 1 {
		seconds := (1 - b.level) / l.perSecond()
		return b.level, max(1, time.Duration(min(seconds, maxWaitSeconds)*float64(time.Second)))
	}
	b.level, b.open = b.level-1, b.open+1
	l.buckets[key] = b
	return b.level, 0
}

// maxWaitSeconds bounds a wait, which a time.Duration must be able to hold.
const maxWaitSeconds = 100 * 365 * 24 * 60 * 60

// take takes objects, or returns some if the number is negative.
func (l *limiter) take(key string, objects int) (level float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.find(key)
	b.level, b.open = min(b.level-float64(objects), float64(l.rate.Objects)), max(0, b.open+float64(objects))
	l.buckets[key] = b
	return b.level
}

// settle ends a call that has taken objects. It bounds the debt, so that the bucket
// holds one object again after the window.
func (l *limiter) settle(key string, objects int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.find(key)
	b.open = max(0, b.open-float64(objects))
	b.level = max(b.level, 1-float64(l.rate.Objects)-b.open)
	l.buckets[key] = b
}

// samples is the number of buckets compared to find one to give up.
const samples = 16

// find returns a key's bucket as it is at present, and makes room for the bucket: of
// some others it gives up the fullest, whose owner gains least. Whoever has spent much
// cannot clear that by having many buckets made.
func (l *limiter) find(key string) bucket {
	now := l.now()
	if b, known := l.buckets[key]; known {
		return bucket{l.level(b, now), now, b.open}
	}
	if len(l.buckets) >= maxBuckets {
		fullest, most, looked := "", math.Inf(-1), 0
		for other, b := range l.buckets {
			if level := l.level(b, now); level > most {
				fullest, most = other, level
			}
			if looked++; looked == samples {
				break
			}
		}
		delete(l.buckets, fullest)
	}
	return bucket{level: float64(l.rate.Objects), at: now}
}

// field returns the limit as an item of RateLimit: what is left, and the seconds until
// the bucket is full again.
func (l *limiter) field(level float64) string {
	full := math.Ceil((float64(l.rate.Objects) - level) / l.perSecond())
	return fmt.Sprintf("%q;r=%d;t=%d", l.name, int64(max(0, math.Floor(level))), int64(min(full, maxWaitSeconds)))
}

// charges are what a call has taken of the limiters of a server, one for each that applies.
type charges struct {
	*limiters
	// header is that of the response.
	header http.Header
	each   []charge
}

// charge is what a call has taken of a limiter.
type charge struct {
	limiter *limiter
	key     string
	level   float64
	// taken is the number of objects that were taken.
	taken int
}

// admit takes one object for the call from a limiter. An error is of kind
// TooManyRequests.
func (c *charges) admit(l *limiter, key string) error {
	if l == nil {
		return nil
	}
	level, wait := l.admit(key)
	c.each = append(c.each, charge{limiter: l, key: key, level: level})
	c.show()
	if wait == 0 {
		c.each[len(c.each)-1].taken = 1
		return nil
	}
	l.refused.Add(1)
	refused := message.RateExceeded.Error(message.Params{"limit": l.rate.Objects, "seconds": int64(l.rate.Window.Seconds())})
	refused.RetryAfter = wait
	return refused
}

// admitAddress is admit for the address that the call comes from.
func (c *charges) admitAddress(address netip.Addr) error {
	if !address.IsValid() { // a connection without addresses is a local one
		return nil
	}
	return c.admit(c.address, listen.ClientOf(address).String())
}

// spend makes the number of objects that was taken another one (Call.Spend).
func (c *charges) spend(objects int) {
	for i := range c.each {
		one := &c.each[i]
		cost := int(min(max(1, int64(objects)), one.limiter.rate.Objects))
		if cost != one.taken {
			one.level = one.limiter.take(one.key, cost-one.taken)
			one.taken = cost
		}
	}
	if len(c.each) > 0 {
		c.show()
	}
}

// settle ends what the call has taken.
func (c *charges) settle() {
	for _, one := range c.each {
		if one.taken > 0 {
			one.limiter.settle(one.key, one.taken)
		}
	}
}

// show sets the fields about rate limits.
func (c *charges) show() {
	items := make([]string, len(c.each))
	for i, one := range c.each {
		items[i] = one.limiter.field(one.level)
	}
	c.header.Set(rateLimitPolicyHeader, c.policies)
	c.header.Set(rateLimitHeader, strings.Join(items, ", "))
}
