package mongodb

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// administrator may do everything. Her password shows whether it is escaped.
var administrator = url.UserPassword("admin", "p@ss/w:rd?")

// uri is a connection string of the whole set for a user, or for nobody.
func (s *set) uri(user *url.Userinfo, database string) string {
	addresses := make([]string, len(s.members))
	for i, m := range s.members {
		addresses[i] = m.address()
	}
	query := s.transport()
	if !s.standalone {
		query.Set("replicaSet", setName)
	}
	before := ""
	if user != nil {
		before = user.String() + "@"
		query.Set("authSource", "admin")
	}
	uri := "mongodb://" + before + strings.Join(addresses, ",") + "/" + database
	if len(query) > 0 {
		uri += "?" + query.Encode()
	}
	return uri
}

// x509URI is a connection string for the bearer of the client's certificate.
func (s *set) x509URI(database string) string {
	uri := s.uri(nil, database) + "&authSource=$external&authMechanism=MONGODB-X509"
	return uri + "&tlsCertificateKeyFile=" + url.QueryEscape(s.certificates.client)
}

// transport is how any client has to speak to the servers.
func (s *set) transport() url.Values {
	query := url.Values{}
	if s.certificates != nil {
		query.Set("tls", "true")
		query.Set("tlsCAFile", s.certificates.authority)
	}
	return query
}

// guarded are the arguments of servers that ask who a client is. Members know
// each other by the content of a file.
func (s *set) guarded() ([]string, error) {
	var arguments []string
	if s.tls {
		var err error
		if s.certificates, err = makeCertificates(s.folder); err != nil {
			return nil, err
		}
		arguments = append(arguments, "--tlsMode", "requireTLS", "--tlsAllowConnectionsWithoutCertificates",
			"--tlsCertificateKeyFile", s.certificates.server, "--tlsCAFile", s.certificates.authority)
	}
	if s.auth {
		secret := make([]byte, 48)
		rand.Read(secret)
		file := filepath.Join(s.folder, "key")
		if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(secret)), 0o400); err != nil {
			return nil, err
		}
		arguments = append(arguments, "--keyFile", file)
	}
	return arguments, nil
}

// admit makes the first user, which a server allows on its own machine and
// once, and the one of the certificate.
func (s *set) admit(ctx context.Context, primary *mongo.Client) error {
	password, _ := administrator.Password()
	err := createUser(ctx, primary.Database("admin"), administrator.Username(), bson.E{Key: "pwd", Value: password})
	if err != nil || s.certificates == nil {
		return err
	}
	return createUser(ctx, s.client.Database("$external"), s.certificates.user)
}

func createUser(ctx context.Context, database *mongo.Database, name string, more ...bson.E) error {
	roles := bson.A{bson.D{{Key: "role", Value: "root"}, {Key: "db", Value: "admin"}}}
	command := bson.D{{Key: "createUser", Value: name}, {Key: "roles", Value: roles}}
	return database.RunCommand(ctx, append(command, more...)).Err()
}
