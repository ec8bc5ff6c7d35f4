package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"marquee/command/exit"
	"marquee/engine/progress"
	"marquee/engine/store/mongo/replicaset"
)

// initReplicaSetCommand is marquee init-replica-set, for deployments that start
// without an operator at a MongoDB shell. Running it again changes nothing.
type initReplicaSetCommand struct {
	Store             string        `help:"The URI that servers will be given: its hosts become the members of the set, its replicaSet the name." placeholder:"mongodb://HOST,…/DATABASE?replicaSet=NAME" secret:"uri"`
	StoreFile         string        `help:"File with that URI." placeholder:"FILE"`
	Member            string        `help:"The member that receives the commands. A MongoDB server without users accepts them from its own machine only, so that the default is 127.0.0.1 with the port of the first host of the URI." placeholder:"HOST:PORT"`
	AdminPassword     string        `help:"Create the user admin with this password, and the user of the URI, who may read and write its database." placeholder:"PASSWORD" secret:""`
	AdminPasswordFile string        `help:"File with that password." placeholder:"FILE"`
	Wait              time.Duration `default:"2m" help:"How long to wait for the members." placeholder:"TIME"`
}

func (c *initReplicaSetCommand) Run(ctx context.Context) error {
	if c.Store == "" {
		return exit.Usagef("--store or --store-file is needed")
	}
	ctx, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	set, err := replicaset.Init(ctx, replicaset.Options{URI: c.Store, Member: c.Member, AdminPassword: c.AdminPassword,
		Waiting: func(name string) func() { return progress.While(firstWaiting, everyWaiting, sayWaiting(name)) }})
	var silent replicaset.SilentError
	switch {
	case errors.As(err, &silent):
		return fmt.Errorf("no MongoDB server answers at %s: run the command on the machine of a member, and name its port with --member HOST:PORT", string(silent))
	case errors.Is(err, replicaset.ErrURI):
		return errors.New("--store is not a MongoDB URI; in its user and password, all characters except letters and digits must be percent-encoded")
	case errors.Is(err, replicaset.ErrNoSet):
		return errors.New("the URI of --store does not name the replica set: add replicaSet=NAME")
	case errors.Is(err, replicaset.ErrNoDatabase):
		return errors.New("the URI of --store names no database: write mongodb://HOST,…/DATABASE")
	case err != nil:
		return err
	case set.Existed:
		fmt.Printf("The replica set %s is there.\n", set.Name)
	default:
		fmt.Printf("The replica set %s of %s is ready.\n", set.Name, strings.Join(set.Members, ", "))
	}
	return nil
}
