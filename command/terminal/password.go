package terminal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"marquee/command/exit"
)

// PasswordFlags say where a new password comes from. It is never an argument or an
// environment variable, which other users of the machine could see.
type PasswordFlags struct {
	PasswordFile     string `env:"-" help:"Read the password from the first line of this file; - is standard input." placeholder:"FILE"`
	GeneratePassword bool   `env:"-" help:"Generate a password and print it once."`
}

// PasswordHelp says where commands get a password from.
const PasswordHelp = "The password is asked for on a terminal, and otherwise read from the first line of standard input."

// maxPasswordFile is the maximum number of bytes read from a file with a password.
const maxPasswordFile = 8 << 10

// Password returns the new password.
func (f *PasswordFlags) Password(ctx context.Context) (string, error) {
	switch {
	case f.GeneratePassword && f.PasswordFile != "":
		return "", exit.Usagef("--generate-password and --password-file cannot be combined")
	case f.GeneratePassword:
		return rand.Text(), nil
	case f.PasswordFile != "" && f.PasswordFile != "-":
		file, err := os.Open(f.PasswordFile)
		if err != nil {
			return "", fmt.Errorf("the password cannot be read: %w", exit.Cause(err))
		}
		defer file.Close()
		return firstLine(file)
	case f.PasswordFile == "" && term.IsTerminal(int(os.Stdin.Fd())):
		return askPassword(ctx)
	}
	return firstLine(os.Stdin)
}

// firstLine returns the first line of a file, which is not empty.
func firstLine(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPasswordFile+1))
	if err != nil {
		return "", fmt.Errorf("the password cannot be read: %w", exit.Cause(err))
	}
	if len(text) > maxPasswordFile {
		return "", errors.New("the password cannot be read: its file is too large")
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", errors.New("the password is empty: write it to the first line of standard input or of --password-file, or use --generate-password")
	}
	return line, nil
}

// askPassword asks for a password twice on the terminal, without showing it. A signal
// that ends ctx restores the terminal.
func askPassword(ctx context.Context) (string, error) {
	terminal := int(os.Stdin.Fd())
	state, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	ask := func(prompt string) (string, error) {
		fmt.Fprint(os.Stderr, prompt)
		defer fmt.Fprintln(os.Stderr)
		typed := make(chan error, 1)
		var password []byte
		go func() {
			var err error
			password, err = term.ReadPassword(terminal)
			typed <- err
		}()
		select {
		case err := <-typed:
			return string(password), err
		case <-ctx.Done():
			_ = term.Restore(terminal, state)
			return "", context.Cause(ctx)
		}
	}
	password, err := ask("New password: ")
	if err != nil {
		return "", err
	}
	again, err := ask("New password again: ")
	switch {
	case err != nil:
		return "", err
	case password == "":
		return "", errors.New("the password is empty")
	case password != again:
		return "", errors.New("the passwords differ")
	}
	return password, nil
}

// Show prints a password that was generated.
func (f *PasswordFlags) Show(password string) {
	if f.GeneratePassword {
		fmt.Printf("The password is %s — keep it: it is not shown again.\n", password)
	}
}
