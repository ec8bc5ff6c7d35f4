package keyword

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"marquee/engine/document"
)

// Exclusive reports whether the rule is about intervals: of the objects with the same
// values, no two have intervals that overlap.
func (r *ClaimRule) Exclusive() bool { return r.From != "" }

// interval returns the ends of the half-open interval of an object, in the order of their
// texts. An end that is not set is open. It reports false if there is no such interval:
// the object has an end that is no number, date or date-time, or nothing lies between the
// ends.
func (r *ClaimRule) interval(object map[string]any) (from, to string, ok bool) {
	from, low := bound(document.ValueAt(object, r.From), lowest)
	to, high := bound(document.ValueAt(object, r.To), highest)
	return from, to, low && high && from < to && (from == lowest || to == highest || from[:2] == to[:2])
}

// The texts of open ends: all others lie between them.
const lowest, highest = "0", "2"

// bound returns the text of an end of an interval. The texts of two numbers are in the
// order of the numbers, and those of two times in that of the times.
func bound(value any, open string) (text string, ok bool) {
	switch v := value.(type) {
	case nil:
		return open, true
	case string:
		for _, layout := range []string{time.DateOnly, document.TimeLayout} {
			if at, err := time.Parse(layout, v); err == nil && at.Format(layout) == v {
				return "1t" + v, true
			}
		}
	case int64:
		return "1n" + numberText(strconv.FormatInt(v, 10)+"e0"), true
	case float64:
		return "1n" + numberText(strconv.FormatFloat(v, 'e', -1, 64)), true
	}
	return "", false
}

// numberText returns a text of a decimal number that is ordered as the number is: its sign,
// its exponent and its digits. Of a negative number, the last two are complements.
func numberText(decimal string) string {
	mantissa, exponent, _ := strings.Cut(decimal, "e")
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	e, _ := strconv.Atoi(exponent)
	e += len(whole) - 1
	digits := strings.TrimRight(whole+fraction, "0")
	if digits == "" {
		return "5"
	}
	text := fmt.Sprintf("%04d%s", 5000+e, digits)
	if !negative {
		return "6" + text
	}
	complement := []byte(text)
	for i, digit := range complement {
		complement[i] = '9' - (digit - '0')
	}
	return "4" + string(complement) + "~"
}

// intervalValue returns the claim of an interval: a digest of the values, and both ends,
// the later one first, so that the claims of the same values are in the order of their
// ends.
func intervalValue(values []byte, from, to string) string {
	digest := sha256.Sum256(values)
	return hex.EncodeToString(digest[:16]) + " " + to + " " + from
}

// Interval is an interval that is claimed.
type Interval struct {
	// Of identifies the values: only intervals of the same values can clash.
	Of       string
	From, To string
}

// IntervalOf returns the interval of a claim of an exclusive rule.
func IntervalOf(value string) (i Interval) {
	i.Of, i.To, _ = strings.Cut(value, " ")
	i.To, i.From, _ = strings.Cut(i.To, " ")
	return i
}

// Meets reports whether two intervals overlap.
func (i Interval) Meets(other Interval) bool {
	return i.Of == other.Of && i.From < other.To && other.From < i.To
}

// Before returns a text between the claims of intervals of the same values that end before
// this one begins, or when it does, and the claims of the others.
func (i Interval) Before() string { return i.Of + " " + i.From + "!" }

// isEmpty reports whether an object would claim an interval in which nothing lies.
func (r *ClaimRule) isEmpty(ctx context.Context, object map[string]any, state string) (bool, error) {
	from, low := bound(document.ValueAt(object, r.From), lowest)
	to, high := bound(document.ValueAt(object, r.To), highest)
	if !low || !high || from < to {
		return false, nil
	}
	_, applies, err := r.values(ctx, object, state)
	return applies, err
}
