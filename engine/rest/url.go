package rest

import (
	"errors"
	"net/url"
	"strings"
)

// BaseURL is the URL of a service, without a slash at its end. As the value of a setting,
// it implements encoding.TextUnmarshaler.
type BaseURL string

// UnmarshalText accepts http and https URLs without a user, parameters and a fragment.
func (u *BaseURL) UnmarshalText(text []byte) error {
	at, err := url.Parse(string(text))
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
		return errors.New("must be an http or https URL, without a user, parameters or a fragment")
	}
	*u = BaseURL(strings.TrimRight(at.String(), "/"))
	return nil
}
