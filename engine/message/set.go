package message

// Set contains the definitions of one package, which are the values of its
// variables:
//
//	var Messages message.Set
//
//	var NoteClosed = Messages.Invalid("error.note.closed", "The note {{id}} is closed.")
//
// NewCatalogue combines sets. The zero value is empty and ready to use.
type Set struct{ definitions []*Definition }

// All returns the definitions in the order of their declaration.
func (s *Set) All() []*Definition { return s.definitions }

func (s *Set) define(kind Kind, messageType, code, text string) *Definition {
	def := &Definition{Code: code, Type: messageType, Text: text, Kind: kind}
	s.definitions = append(s.definitions, def)
	return def
}

// Fault defines an error of a kind.
func (s *Set) Fault(kind Kind, code, text string) *Definition {
	return s.define(kind, TypeError, code, text)
}

// Invalid defines a validation error, which has the parameter field.
func (s *Set) Invalid(code, text string) *Definition {
	return s.define(Invalid, TypeValidation, code, text)
}

// Warning defines a warning that is stored with objects.
func (s *Set) Warning(code, text string) *Definition {
	return s.define(None, TypeWarning, code, text)
}
