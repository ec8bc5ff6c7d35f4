package command

import (
	"marquee"
	"marquee/resources"
)

// applicationFlags choose the application that is served.
type applicationFlags struct {
	Application string `type:"choice" enum:"advertising,none" default:"advertising" help:"Types and rules that are served besides those of --schemas: advertising, or none, which has only networks, users, roles, teams and tokens." placeholder:"NAME"`
}

// application is what is served.
type application struct {
	marquee.Application
	// advertising is the advertising service, nil if it is not served.
	advertising *resources.Service
}

func (f *applicationFlags) application() *application {
	if f.Application == "none" {
		return &application{}
	}
	advertising := resources.New()
	return &application{advertising.Application(), advertising}
}
