package message

var builtIn []*Definition

func define(kind Kind, messageType, code, text string) *Definition {
	def := &Definition{Code: code, Type: messageType, Text: text, Kind: kind}
	builtIn = append(builtIn, def)
	return def
}

func fault(kind Kind, code, text string) *Definition { return define(kind, TypeError, code, text) }

func invalid(code, text string) *Definition { return define(Invalid, TypeValidation, code, text) }

// Requests that cannot be read.
var (
	BodySyntax        = fault(Malformed, "error.body.syntax", "The body is not JSON: see line {{line}}, column {{column}}.")
	BodyDuplicateName = fault(Malformed, "error.body.duplicate.name", "The name at {{field}} stands twice in its object (line {{line}}, column {{column}}).")
	BodyEncoding      = fault(Malformed, "error.body.encoding", "The body is not valid UTF-8 (line {{line}}, column {{column}}).")
	BodyTooDeep       = fault(Malformed, "error.body.too.deep", "The body is nested more than {{limit}} levels deep.")
	BodyNotObject     = fault(Malformed, "error.body.not.object", "The body must be a JSON object.")
	BodyNotObjects    = fault(Malformed, "error.body.not.objects", "The body must be a JSON object, or an array of objects.")
	BodyIncomplete    = fault(Malformed, "error.body.incomplete", "The body ended before it was complete.")
	BodyCompression   = fault(Malformed, "error.body.compression", "The body is not valid gzip.")
	BodyTooLarge      = fault(TooLarge, "error.body.too.large", "The body is larger than {{limit}} bytes.")
	BatchTooLarge     = fault(TooLarge, "error.batch.too.large", "The request changes more than the store takes at once; send it in smaller parts.")
	ObjectTooLarge    = fault(TooLarge, "error.object.too.large", "The object is larger than {{limit}} bytes.")
	TooManyObjects    = fault(TooLarge, "error.too.many.objects", "A call takes at most {{limit}} objects.")
	TooManyValues     = fault(TooLarge, "error.too.many.values", "A body takes at most {{limit}} JSON values.")
	MediaType         = fault(UnsupportedMediaType, "error.media.type", "The content type {{value}} is not supported; send application/json.")
	ContentEncoding   = fault(UnsupportedMediaType, "error.content.encoding", "The content encoding {{value}} is not supported; send gzip, or none.")
	FormSyntax        = fault(Malformed, "error.form.syntax", "The body is not valid multipart/form-data.")
	FormPartRepeated  = fault(Malformed, "error.form.part.repeated", "The form has more parts named {{part}} than it may.")
	FormTooManyParts  = fault(TooLarge, "error.form.too.many.parts", "A form takes at most {{limit}} parts.")
	QuerySyntax       = fault(Malformed, "error.query.syntax", "The query string cannot be read.")
	ParameterRepeated = fault(Malformed, "error.parameter.repeated", "The parameter {{parameter}} stands more than once.")
	ParameterUnknown  = fault(Malformed, "error.parameter.unknown", "The parameter {{parameter}} is not known here.")
	ParameterMissing  = fault(Malformed, "error.parameter.missing", "The parameter {{parameter}} is required.")
	ParameterInvalid  = fault(Malformed, "error.parameter.invalid", "The parameter {{parameter}} must be {{expected}}.")
	ParameterConflict = fault(Malformed, "error.parameter.conflict", "The parameters {{parameter}} and {{other}} cannot be used together.")
	FieldUnknown      = fault(Malformed, "error.field.unknown", "{{parameter}} names the field {{value}}, which {{type}} does not have.")
	FieldNotSortable  = fault(Malformed, "error.field.not.sortable", "{{type}} cannot be ordered by {{value}}.")
	FieldNotQueryable = fault(Malformed, "error.field.not.queryable", "{{value}} of {{type}} cannot be used in a query.")
	WhereSyntax       = fault(Malformed, "error.where.syntax", "where cannot be read at character {{position}}: expected {{expected}}.")
	WhereTooLong      = fault(Malformed, "error.where.too.long", "where takes at most {{limit}} conditions and values.")
	CursorInvalid     = fault(Malformed, "error.cursor.invalid", "The cursor does not belong to this query.")
	BadID             = fault(Malformed, "error.id.invalid", "An id is 1 to 256 bytes of UTF-8 without control characters, and not . or .. or a fixed path of its type.")
	IDMismatch        = fault(Malformed, "error.id.mismatch", "The id in the body ({{value}}) is not the id in the path ({{id}}).")
	HeaderInvalid     = fault(Malformed, "error.header.invalid", "The header {{header}} must be {{expected}}.")
)

// Access.
var (
	TokenMissing         = fault(Unauthenticated, "error.token.missing", "An access token is required.")
	TokenInvalid         = fault(Unauthenticated, "error.token.invalid", "The access token is not valid, has expired or was revoked.")
	TokenTwice           = fault(Malformed, "error.token.twice", "Send the access token in the Authorization header or as auth_token, not both.")
	InvalidGrant         = fault(Malformed, "error.grant.invalid", "The user name or password is wrong, or the refresh token is not valid.")
	UnsupportedGrant     = fault(Malformed, "error.grant.unsupported", "grant_type must be password or refresh_token.")
	InvalidTokenRequest  = fault(Malformed, "error.token.request.invalid", "The token request needs {{parameter}}.")
	InvalidScope         = fault(Malformed, "error.scope.invalid", "scope must be ng_api.")
	NetworkForbidden     = fault(Forbidden, "error.network.forbidden", "There is no network {{context}} in which you have a role.")
	PermissionMissing    = fault(Forbidden, "error.permission.missing", "Writing {{type}} needs the permission {{permission}}.")
	ReadForbidden        = fault(Forbidden, "error.read.forbidden", "Reading {{type}} needs the permission {{permission}}.")
	ResultInvisible      = fault(Forbidden, "error.result.invisible", "The write was refused: you could not see its result.")
	GrantNotHeld         = fault(Forbidden, "error.grant.not.held", "You cannot grant {{value}}: you do not hold it yourself.")
	UserNotManaged       = fault(Forbidden, "error.user.not.managed", "{{field}} can be changed by the user himself, or by one who manages all of his networks and holds all that he holds.")
	NetworkNotManaged    = fault(Forbidden, "error.network.not.managed", "You cannot change roles in the network {{context}}.")
	CurrentPasswordWrong = invalid("error.current.password.wrong", "currentPassword is needed to change your own password, and must be right.")
)

// Resources and methods.
var (
	TypeUnknown       = fault(NotFound, "error.type.unknown", "There is no resource type {{type}}.")
	ObjectNotFound    = fault(NotFound, "error.object.not.found", "There is no object {{id}} of type {{type}}.")
	PathUnknown       = fault(NotFound, "error.path.unknown", "There is nothing at this path.")
	MethodUnsupported = fault(MethodNotAllowed, "error.method.not.allowed", "The method {{method}} is not supported here.")
	VersionMismatch   = fault(PreconditionFailed, "error.version.mismatch", "The object {{id}} has changed since: If-Match does not name its present version.")
	ContentChanged    = fault(PreconditionFailed, "error.content.changed", "The content is not what the conditions of the request say.")
	RangeUnsatisfied  = fault(NotSatisfiable, "error.range.not.satisfiable", "None of the ranges asked for is within the {{size}} bytes of the content.")
	AlreadyExists     = fault(PreconditionFailed, "error.already.exists", "The object {{id}} exists already, and If-None-Match asked for a new one.")
)

// Faults of the objects that a client sends. Each has params.field.
var (
	ReferencedObjectNotFound = fault(Invalid, "error.referenced.object.not.found", "There is no {{type}} with the id {{id}}.")
	ReferenceMalformed       = invalid("error.reference.malformed", "{{field}} must be an id, or an object with an id.")
	ReferenceMismatch        = invalid("error.reference.mismatch", "{{field}} takes {{type}} whose {{property}} is {{expected}}.")
	PropertyRequired         = invalid("error.property.required", "{{field}} is required.")
	PropertyUnknown          = invalid("error.property.unknown", "{{field}} is not a property of {{type}}.")
	PropertyImmutable        = invalid("error.property.immutable", "{{field}} cannot change once it is set.")
	PropertyForbidden        = invalid("error.property.forbidden", "{{field}} cannot be set here.")
	PropertyFrozen           = invalid("error.property.frozen", "{{field}} cannot change while the object is in its present state.")
	TransitionForbidden      = invalid("error.transition.forbidden", "{{field}} cannot go from {{from}} to {{to}}.")
	ValueNotUnique           = invalid("error.value.not.unique", "Another object has the same {{field}}.")
	DuplicateID              = invalid("error.id.duplicate", "The id {{objectId}} stands twice in the call.")
	IDRequired               = invalid("error.id.required", "An object of type {{type}} needs an id.")
	ValueType                = invalid("error.value.type", "{{field}} must be of type {{expected}}.")
	ValueEnum                = invalid("error.value.enum", "{{field}} must be one of {{allowed}}.")
	ValueConst               = invalid("error.value.const", "{{field}} must be {{expected}}.")
	ValueFormat              = invalid("error.value.format", "{{field}} must be a valid {{format}}.")
	ValuePattern             = invalid("error.value.pattern", "{{field}} must match {{pattern}}.")
	ValueTooShort            = invalid("error.value.too.short", "{{field}} must have at least {{limit}} characters.")
	ValueTooLong             = invalid("error.value.too.long", "{{field}} must have at most {{limit}} characters.")
	ValueTooSmall            = invalid("error.value.too.small", "{{field}} must be at least {{limit}}.")
	ValueTooLarge            = invalid("error.value.too.large", "{{field}} must be at most {{limit}}.")
	ValueNotAbove            = invalid("error.value.not.above", "{{field}} must be greater than {{limit}}.")
	ValueNotBelow            = invalid("error.value.not.below", "{{field}} must be less than {{limit}}.")
	ValueMultiple            = invalid("error.value.multiple", "{{field}} must be a multiple of {{limit}}.")
	ValueOutOfRange          = invalid("error.value.out.of.range", "The number at {{field}} is outside the range of a double.")
	ValueCharacter           = invalid("error.value.character", "{{field}} holds the character U+0000, which cannot be stored.")
	TooFewItems              = invalid("error.items.too.few", "{{field}} must have at least {{limit}} items.")
	TooManyItems             = invalid("error.items.too.many", "{{field}} must have at most {{limit}} items.")
	ItemsNotUnique           = invalid("error.items.not.unique", "{{field}} holds the same item twice.")
	ItemsMissing             = invalid("error.items.missing", "{{field}} lacks an item that must be there.")
	TooFewProperties         = invalid("error.properties.too.few", "{{field}} must have at least {{limit}} properties.")
	TooManyProperties        = invalid("error.properties.too.many", "{{field}} must have at most {{limit}} properties.")
	PropertyName             = invalid("error.property.name", "The name of {{field}} is not allowed.")
	ValueNotAllowed          = invalid("error.value.not.allowed", "{{field}} has a value that is not allowed there.")
	ValueOrder               = invalid("error.value.order", "{{field}} must be {{relation}} {{other}}.")
	BatchTypeUnknown         = invalid("error.batch.type.unknown", "{{field}} names no resource type that can be written: {{type}}.")
	FileNotInFolder          = invalid("error.file.not.in.folder", "There is no file {{file}} in the folder of the files.")
	BatchMember              = fault(Malformed, "error.batch.member", "An operation has the members type and object; the batch has operations.")
)

// The service itself.
var (
	ConflictUnresolved = fault(Conflict, "error.conflict", "The write met another one, and the service's own retries did not resolve it; try again.")
	InternalError      = fault(Internal, "error.internal", "Internal error. The log has it under {{requestId}}.")
	StoreUnavailable   = fault(Unavailable, "error.store.unavailable", "The store cannot be reached at present; try again later.")
	DeadlineExceeded   = fault(Unavailable, "error.deadline.exceeded", "The request took longer than its deadline; narrow it, or try again later.")
	OutcomeUnknown     = fault(Unavailable, "error.outcome.unknown", "The store was lost while the request was being stored, and whether it was stored is not known; read what was to be written before trying again.")
	SchemaOutdated     = fault(Unavailable, "error.schema.outdated", "Another server serves a newer schema of {{type}}; write through that one, or reload the schemas of this one.")
	ShuttingDown       = fault(Unavailable, "error.shutting.down", "The service is shutting down.")
)

// Audit history.
var (
	AuditCreated = define(None, TypeAudit, "audit.object.created", "{{type}} {{id}} was created.")
	AuditUpdated = define(None, TypeAudit, "audit.object.updated", "{{type}} {{id}} was changed.")
)

// NotificationWarning tells of a warning that has appeared on an object.
var NotificationWarning = define(None, TypeNotification, "notification.warning.appeared", "{{type}} {{id}} has a new warning: {{warning}}.")

// WarningUnknownProperty is sent in a Warning header, never stored.
var WarningUnknownProperty = define(None, TypeWarning, "warning.property.unknown", "{{field}} is not a property of {{type}} and was dropped.")
