package command

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"marquee/command/exit"
	"marquee/command/settings"
	"marquee/command/terminal"
)

// helpCommand is marquee help.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command; the whole program when none is named."`
}

func (c *helpCommand) Run(parser *kong.Kong) error {
	_, err := parser.Parse(append(c.Command, "--help")) // which prints the help and exits
	return err
}

// examples is the part of a command's help that shows how it is called: lines without the
// name of the program.
func examples(lines ...string) string {
	title := "Examples:"
	if len(lines) == 1 {
		title = "Example:"
	}
	indent := "\n  " + programName + " "
	return title + "\n" + indent + strings.Join(lines, indent)
}

// details returns what the help of each command adds to its flags, by the path of the
// command.
func details() map[string]string {
	return map[string]string{
		"":                 examples("serve", "schema lint my-schemas", "help import"),
		"serve":            examples("serve", "serve --schemas my-schemas --log-format json", "serve --store 'mongodb://host1,host2,host3/marquee?replicaSet=rs0' --addr :8080"),
		"init":             examples("init", "init --bootstrap-network north --bootstrap-username kari"),
		"config":           "Takes the flags of serve. Secrets are shown as (set). If serve would refuse the settings, the reason follows.\n\n" + examples("config", "config --store sqlite:copy.db --json"),
		"health":           examples("health", "health --addr :8443 --tls-cert fullchain.pem", "health --url https://marquee.example.com"),
		"import":           examples("import teams teams.ndjson --context main --rejected rejected.ndjson", "import all.ndjson --files files --create", "import teams crm.csv --context main --columns 'Company=name'", "import teams - --context main"),
		"export":           examples("export --context main --output main.ndjson --files files", "export roles teams --context main", "export --all-networks --secrets --output all.ndjson --files files"),
		"tail":             "Prints changes in the order in which they were committed, and waits for more. A line whose kind is reset says that the token sees other objects than before (RIGHTS_CHANGED), or that changes after the position have been removed (POSITION_TOO_OLD): read them again.\n\n" + examples("tail orders lineitems --context main --position orders.position", "tail --context main --include none --once", "tail --url https://marquee.example.com --token-file token --context main"),
		"check":            "Checks the SQLite file; the document, schema, secrets, references, index terms, unique values, history and files of each object; the object counts; and usernames that predate RFC 8265 comparison. Prints one line per fault, with its remedy.\n\n" + examples("check", "check --proposed my-schemas", "check --store sqlite:copy.db --secret-key-file marquee.key"),
		"backup":           "Copies the store, verifies the copy, and writes a description beside it (.json). A backup has everything that was confirmed before it began, and the files of assets; the secret key is not in it. The command works whether or not the store is being served; a server writes the file itself.\n\n" + examples("backup backups", "backup backups --keep 14", "backup copy.db --store sqlite:marquee-data/marquee.db"),
		"restore":          "Verifies a backup, prints what it holds, and puts it into the place of the store, which must not be served. All sessions and API tokens end.\n\n" + examples("restore backups/marquee-20261126T030000.000Z.db", "restore copy.db --force", "restore copy.db --store sqlite:drill/marquee.db --secret-key-file marquee.key"),
		"copy":             "Copies objects, history, files, users with their passwords, tokens and keys, with their times and versions, and compares both stores. If the command is interrupted, run it again: it continues. The target cannot be used before it is complete.\n\n" + examples("copy --from sqlite:marquee-data/marquee.db --to 'mongodb://host1,host2,host3/marquee?replicaSet=rs0'", "copy --from 'mongodb://host1,host2,host3/marquee?replicaSet=rs0' --to sqlite:copy/marquee.db"),
		"schema":           examples("schema lint my-schemas"),
		"schema lint":      examples("schema lint my-schemas"),
		"schema diff":      "Prints what breaks for stored objects (STORED), writes (REQUEST), readers (RESPONSE) and generated clients (SOURCE). A difference of which that cannot be decided is printed as undecided, and counts as one of all its classes.\n\n" + examples("schema diff released my-schemas --fail-on STORED,REQUEST", "schema diff store: my-schemas"),
		"schema new":       examples("schema new wards my-schemas"),
		"schema show":      examples("schema show wards --schemas my-schemas", "schema show roles --application none"),
		"schema meta":      examples("schema meta"),
		"schema history":   examples("schema history", "schema history --json"),
		"schema prune":     "Removes the values from the objects and from the history, which notes a change of the operator. The command works whether or not the store is being served. You can interrupt it: the service then goes on.\n\n" + examples("schema prune orders fax --schemas my-schemas --dry-run", "schema prune orders '/lines/*/fax' --schemas my-schemas"),
		"schema export":    examples("schema export 12 restored-schemas"),
		"user":             "The commands work whether or not the store is being served.\n\n" + examples("user add kari --role Administrator --network main", "user passwd kari", "user list"),
		"user add":         terminal.PasswordHelp + "\n\n" + examples("user add kari --name 'Kari' --role Administrator --network main", "user add ola --role Editor --generate-password", "user add pipeline --role Reader --no-password"),
		"user passwd":      terminal.PasswordHelp + "\n\n" + examples("user passwd kari", "user passwd kari --generate-password", "user passwd kari --password-file new-password"),
		"user disable":     examples("user disable kari"),
		"user enable":      examples("user enable kari"),
		"user list":        examples("user list", "user list --network main --json"),
		"user logout":      examples("user logout kari", "user logout --all"),
		"role":             "The commands work whether or not the store is being served. Users get roles when they are created, and through the API.\n\n" + examples("role list --network main", "role add Editor --permission MANAGE_SYSTEM"),
		"role add":         examples("role add Editor --network main --scope NETWORK --permission MANAGE_SYSTEM"),
		"role list":        examples("role list --network main"),
		"role show":        examples("role show Editor --network main"),
		"role set":         "The permissions that are given with --permission replace those of the role; --add-permission adds to them.\n\n" + examples("role set Editor --permission MANAGE_SYSTEM", "role set Editor --add-permission MANAGE_WARDS", "role set Editor --scope NETWORK"),
		"role disable":     examples("role disable Editor"),
		"role enable":      examples("role enable Editor"),
		"token":            "The commands work whether or not the store is being served. A token has the rights of one role, and works while the user to whom it belongs manages the network.\n\n" + examples("token add Backup --user admin --role Reader", "token list"),
		"token add":        "The token is printed on standard output, and cannot be shown again. Send it in the Authorization header, as in \"Authorization: Bearer mq_…\".\n\n" + examples("token add Backup --user admin --role Reader --network main", "token add pipeline --user admin --role Editor --days 30 --json"),
		"token list":       examples("token list --network main"),
		"token revoke":     examples("token revoke abcdefgh12345678"),
		"key":              "The commands work whether or not the store is being served. The key that encrypts secrets is another one: see the command secrets.\n\n" + examples("key rotate", "key list"),
		"key rotate":       "The next key begins to sign when it has been published for ten minutes, and tokens that were signed before remain valid until they expire. With --revoke, all servers use a new key within a second, and clients need new access tokens; refresh tokens remain valid.\n\n" + examples("key rotate", "key rotate --revoke"),
		"key list":         examples("key list"),
		"erase":            "Removes the values of properties with x-personal from an object and from its history, and hides the object. The command works whether or not the store is being served. You can interrupt it and run it again.\n\n" + examples("erase users abcdefgh12345678", "erase patients p-17 --network north"),
		"secrets":          examples("secrets rotate"),
		"secrets rotate":   "Creates a new key, keeps the old one in a file beside it, and encrypts all secrets and signing keys with the new key; a running server of an SQLite file does this itself. With --secret-key, no key is created: everything is encrypted with the first key. You can interrupt the command and run it again.\n\n" + examples("secrets rotate", "secrets rotate --store 'mongodb://host1,host2,host3/marquee?replicaSet=rs0' --secret-key NEW,OLD"),
		"openapi":          examples("openapi", "openapi --schemas my-schemas"),
		"init-replica-set": examples("init-replica-set --store 'mongodb://host1,host2,host3/marquee?replicaSet=rs0'"),
		"help":             examples("help", "help import", "help schema lint"),
		"version":          examples("version"),
	}
}

// describe is the help of a flag or an argument, with its default and the
// variable of the environment that sets it.
func describe(value *kong.Value) string {
	var notes []string
	if value.HasDefault && value.Default != "" {
		notes = append(notes, "default "+value.Default)
	}
	for _, name := range value.Tag.Envs {
		notes = append(notes, "$"+name)
	}
	if len(notes) == 0 {
		return value.Help
	}
	return strings.TrimSuffix(value.Help, ".") + " (" + strings.Join(notes, ", ") + ")."
}

// What the flag library says of values, and what this program says.
var valueTexts = []struct {
	said *regexp.Regexp
	says string
}{
	{regexp.MustCompile(`^(--[a-z-]+): expected \S+ value but got .*`), "$1 needs a value"},
	{regexp.MustCompile(`^(--[a-z-]+): expected duration but got (".*?"): time: [a-z ]+ ".*?"`), "$1 must be a time such as 30s, 15m or 2h, not $2"},
	{regexp.MustCompile(`^(--[a-z-]+): expected a valid \d+ bit u?int but got (".*?")`), "$1 must be a whole number, not $2"},
	{regexp.MustCompile(`^(--[a-z-]+): bool value must be .* but got (".*?")`), "$1 must be true or false, not $2"},
	{regexp.MustCompile(`^(--[a-z-]+) must be one of (.*) but got (".*?")`), "$1 must be one of $2, not $3"},
	{regexp.MustCompile(`^(--[a-z-]+): must `), "$1 must "},
	{regexp.MustCompile(`\(from envar ([A-Z_]+)=.*\)$`), "(from $1)"},
}

// usageText is what is wrong with a command line.
func usageText(wrong *kong.ParseError) string {
	text := exit.Cause(wrong.Unwrap()).Error()
	for _, value := range valueTexts {
		text = value.said.ReplaceAllString(text, value.says)
	}
	return text
}

// mistakes is what is wrong with a command line and the variables of the environment. Of a
// server, which has many, what cannot be read is left out until the rest can be, so that all of
// it is named.
func (p *Program) mistakes(args []string, wrong *kong.ParseError) string {
	texts := []string{usageText(wrong)}
	if node := wrong.Context.Selected(); node == nil || node.Name != "serve" && node.Name != "config" {
		return texts[0]
	}
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-h" || arg == "--help" || arg == "--version" }) // which end the process
	for {
		name := flagName.FindString(texts[len(texts)-1])
		variable := settings.VariablePrefix + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(name, "--"), "-", "_"))
		i := slices.IndexFunc(args, func(arg string) bool { return name != "" && (arg == name || strings.HasPrefix(arg, name+"=")) })
		switch _, set := os.LookupEnv(variable); {
		case i >= 0 && args[i] == name && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			args = slices.Delete(args, i, i+2)
		case i >= 0:
			args = slices.Delete(args, i, i+1)
		case set:
			os.Unsetenv(variable)
		default: // it is in the file, or no flag
			return strings.Join(texts, "; ")
		}
		if _, err := newParser(p, p.commands()).Parse(args); !errors.As(err, &wrong) {
			return strings.Join(texts, "; ")
		}
		texts = append(texts, usageText(wrong))
	}
}

var flagName = regexp.MustCompile(`--[a-z0-9-]+`)

// explainUsage says on standard error what is wrong with a command line or a setting.
func explainUsage(parser *kong.Kong, parsed *kong.Context, text string) {
	node := parser.Model.Node
	if selected := parsed.Selected(); selected != nil {
		node = selected
	}
	if len(node.Children) > 0 && strings.HasPrefix(text, "expected ") {
		var names []string
		for _, child := range node.Children {
			names = append(names, child.Name)
		}
		text = "name a command: " + strings.Join(names, ", ")
	}
	fmt.Fprintln(os.Stderr, programName+": "+text)
	parser.Stdout = os.Stderr
	_ = kong.DefaultShortHelpPrinter(kong.HelpOptions{}, parsed) // nothing is left to be done
}
