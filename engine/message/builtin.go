package message

// builtIn are the messages of the engine itself.
var builtIn Set

func define(messageType, code, text string) *Definition {
	return builtIn.define(None, messageType, code, text)
}

func fault(kind Kind, code, text string) *Definition { return builtIn.Fault(kind, code, text) }

func invalid(code, text string) *Definition { return builtIn.Invalid(code, text) }

// Refusal defines a message of the engine with which objects are refused, for a keyword of
// schemas. It is called while packages are initialised.
func Refusal(code, text string) *Definition { return invalid(code, text) }

// Requests that cannot be read.
var (
	BodySyntax         = fault(Malformed, "error.body.syntax", "This is not valid JSON: see line {{line}}, column {{column}}.")
	BodyDuplicateName  = fault(Malformed, "error.body.duplicate.name", "The name at {{field}} is duplicated in its object (line {{line}}, column {{column}}).")
	BodyEncoding       = fault(Malformed, "error.body.encoding", "The body is not valid UTF-8 (line {{line}}, column {{column}}).")
	BodyTooDeep        = fault(Malformed, "error.body.too.deep", "The body is nested more than {{limit}} levels deep.")
	BodyNotObject      = fault(Malformed, "error.body.not.object", "This must be a JSON object.")
	BodyNotObjects     = fault(Malformed, "error.body.not.objects", "The body must be a JSON object or an array of objects.")
	BodyIncomplete     = fault(Malformed, "error.body.incomplete", "The body ended before it was complete.")
	BodyTooSlow        = fault(TooSlow, "error.body.too.slow", "The body was sent too slowly: at least {{rate}} bytes a second are required.")
	BodyCompression    = fault(Malformed, "error.body.compression", "The body is not valid gzip.")
	BodyForm           = fault(Malformed, "error.body.form", "The body is not a valid form (application/x-www-form-urlencoded).")
	BodyTooLarge       = fault(TooLarge, "error.body.too.large", "The body is larger than {{limit}} bytes.")
	BatchTooLarge      = fault(TooLarge, "error.batch.too.large", "The request changes more than the store can write at once; send it in smaller parts.")
	ObjectTooLarge     = fault(TooLarge, "error.object.too.large", "The object is larger than {{limit}} bytes.")
	TooManyObjects     = fault(TooLarge, "error.too.many.objects", "A request can contain at most {{limit}} objects.")
	TooManyValues      = fault(TooLarge, "error.too.many.values", "A body can contain at most {{limit}} JSON values.")
	MediaType          = fault(UnsupportedMediaType, "error.media.type", "The content type {{value}} is not supported; send {{expected}}.")
	ContentEncoding    = fault(UnsupportedMediaType, "error.content.encoding", "The content encoding {{value}} is not supported; send gzip or none.")
	FormSyntax         = fault(Malformed, "error.form.syntax", "The body is not valid multipart/form-data.")
	FormPartRepeated   = fault(Malformed, "error.form.part.repeated", "The form has too many parts named {{part}}.")
	FormTooManyParts   = fault(TooLarge, "error.form.too.many.parts", "A form can have at most {{limit}} parts.")
	RequestSyntax      = fault(Malformed, "error.request.syntax", "The request is not valid HTTP: its path has an invalid escape, or its first line or headers cannot be read.")
	TLSRequired        = fault(Malformed, "error.tls.required", "The server expects TLS: use https.")
	SigningKeysTooMany = fault(Conflict, "error.signing.keys.too.many", "Too many signing keys are still valid; wait until the tokens that they have signed have expired.")
	RateExceeded       = fault(TooManyRequests, "error.rate.exceeded", "The rate limit of {{limit}} objects in {{seconds}} s is exceeded; try again when Retry-After has passed.")
	RequestsTooMany    = fault(TooManyRequests, "error.requests.too.many", "Too many requests are open at once; try again later.")
	HeadersTooLarge    = fault(HeadersExceeded, "error.headers.too.large", "The first line and the headers of the request are too large.")
	QuerySyntax        = fault(Malformed, "error.query.syntax", "The query string cannot be read.")
	ParameterRepeated  = fault(Malformed, "error.parameter.repeated", "The parameter {{parameter}} is given more than once, with different values.")
	ParameterUnknown   = fault(Malformed, "error.parameter.unknown", "The parameter {{parameter}} is not known here; the parameters are: {{allowed}}.")
	ParameterMissing   = fault(Malformed, "error.parameter.missing", "The parameter {{parameter}} is required.")
	ParameterInvalid   = fault(Malformed, "error.parameter.invalid", "The parameter {{parameter}} must be {{expected}}.")
	ParameterConflict  = fault(Malformed, "error.parameter.conflict", "The parameters {{parameter}} and {{other}} cannot be used together.")
	FieldUnknown       = fault(Malformed, "error.field.unknown", "{{parameter}} names the field {{value}}, which {{type}} does not have.")
	FieldNotSortable   = fault(Malformed, "error.field.not.sortable", "{{type}} cannot be ordered by {{value}}.")
	FieldNotQueryable  = fault(Malformed, "error.field.not.queryable", "{{value}} of {{type}} cannot be used in a query.")
	WhereSyntax        = fault(Malformed, "error.where.syntax", "where cannot be read at character {{position}}: expected {{expected}}.")
	WhereTooLong       = fault(Malformed, "error.where.too.long", "where can contain at most {{limit}} conditions and values.")
	CursorInvalid      = fault(Malformed, "error.cursor.invalid", "The cursor does not belong to this query; send a nextCursor with the parameters of the request that returned it.")
	PositionInvalid    = fault(Malformed, "error.position.invalid", "The position in {{parameter}} does not belong to this store, caller and parameters, or was changed; read the objects again, with a new position.")
	BadID              = fault(Malformed, "error.id.invalid", "An id must be 1 to 256 bytes of UTF-8 without control characters, and must not be . or .. or a reserved path of its type.")
	IDMismatch         = fault(Malformed, "error.id.mismatch", "The id in the body ({{value}}) differs from the id in the path ({{id}}).")
	HeaderInvalid      = fault(Malformed, "error.header.invalid", "The header {{header}} must be {{expected}}.")

	IdempotencyKeyReused   = fault(Invalid, "error.idempotency.key.reused", "The header Idempotency-Key has the key of another request; use a new key for each request, and the same key only to repeat it unchanged.")
	IdempotencyKeysTooMany = fault(TooManyRequests, "error.idempotency.keys.too.many", "The server has {{limit}} of your idempotency keys, which is the maximum; wait until some of them have expired, or send the request without the header Idempotency-Key.")
)

// Access.
var (
	TokenMissing         = fault(Unauthenticated, "error.token.missing", "An access token is required; send it in the header Authorization: Bearer.")
	TokenInvalid         = fault(Unauthenticated, "error.token.invalid", "The access token is not valid, has expired or was revoked; get a new one.")
	TokenInURL           = fault(Unauthenticated, "error.token.in.url", "An API token is only accepted in the Authorization header. This one has been in a URL: revoke it.")
	TokenTwice           = fault(Malformed, "error.token.twice", "Send one access token, in the Authorization header or as auth_token; this request has two.")
	TokenInPath          = fault(Malformed, "error.token.in.path", "Send the access token in the Authorization header or as the query parameter auth_token, not in the path.")
	InvalidGrant         = fault(Malformed, "error.grant.invalid", "The username or password is wrong, the refresh token is not valid, or the user has no role in the network that context names.")
	AttemptsTooMany      = fault(TooManyRequests, "error.attempts.too.many", "Too many password checks are pending; try again later.")
	SignInsFailed        = fault(TooManyRequests, "error.sign.ins.failed", "Too many wrong passwords have been sent for this username or from this address; try again later.")
	UnsupportedGrant     = fault(Malformed, "error.grant.unsupported", "grant_type must be password or refresh_token.")
	InvalidTokenRequest  = fault(Malformed, "error.token.request.invalid", "The token request requires {{parameter}}.")
	InvalidScope         = fault(Malformed, "error.scope.invalid", "scope must be {{expected}}.")
	NetworkForbidden     = fault(Forbidden, "error.network.forbidden", "The network {{context}} does not exist, or you have no role in it.")
	PermissionMissing    = fault(Forbidden, "error.permission.missing", "This request requires the permission {{permission}} for {{type}}.")
	ReadForbidden        = fault(Forbidden, "error.read.forbidden", "Reading {{type}} requires the permission {{permission}}.")
	ResultInvisible      = fault(Forbidden, "error.result.invisible", "The write was rejected because you could not read its result.")
	GrantNotHeld         = fault(Forbidden, "error.grant.not.held", "You cannot grant or revoke {{value}}, as you do not hold it yourself, or not for everything that it would apply to.")
	UserRequired         = fault(Forbidden, "error.user.required", "An API token cannot be used for this: sign in as a user.")
	GrantUnseen          = fault(Forbidden, "error.grant.unseen", "You cannot change {{field}}, as that would grant or revoke something that you cannot see.")
	UserNotManaged       = fault(Forbidden, "error.user.not.managed", "Only the user can do this, or a manager of all the user's networks who holds every permission that the user holds.")
	NetworkNotManaged    = fault(Forbidden, "error.network.not.managed", "You cannot change roles in the network {{context}}.")
	LastAdministrator    = invalid("error.last.administrator", "The network {{context}} would be left without an administrator: an ACTIVE user with an ACTIVE role of scope NETWORK that holds MANAGE_SYSTEM.")
	RolesTooWide         = invalid("error.roles.too.wide", "The roles of a user in the network {{context}} can name at most {{limit}} objects in {{property}} together; use fewer roles, or a role of scope NETWORK.")
	RolesGranted         = invalid("error.roles.granted", "A user can be given at most {{limit}} roles in all networks together.")
	NetworksCreated      = invalid("error.networks.created", "A user can have roles in at most {{limit}} networks that the same user has created.")
	NetworksGranted      = invalid("error.networks.granted", "A user can be given roles in at most {{limit}} networks, besides those that the user has created.")
	PasswordCommon       = invalid("error.password.common", "{{field}} is too easy to guess; choose a longer one, such as a phrase of several unrelated words.")
	PasswordHasUsername  = invalid("error.password.has.username", "{{field}} must not contain the username.")
	TokenExpiry          = invalid("error.token.expiry", "{{field}} must be in the future, and at most {{limit}} days from now.")
	CurrentPasswordWrong = invalid("error.current.password.wrong", "currentPassword is required to change your own password or username, and must be correct.")
)

// Resources and methods.
var (
	TypeUnknown       = fault(NotFound, "error.type.unknown", "There is no resource type {{type}}.")
	ObjectNotFound    = fault(NotFound, "error.object.not.found", "There is no object {{id}} of type {{type}}.")
	ParentMissing     = fault(NotFound, "error.parent.missing", "The path must name the parent, an object of {{parent}}: /api/v1/{{type}}/ and its id.")
	PathUnknown       = fault(NotFound, "error.path.unknown", "This path does not exist.")
	MethodUnsupported = fault(MethodNotAllowed, "error.method.not.allowed", "The method {{method}} is not supported here; the header Allow lists those that are.")
	VersionMismatch   = fault(PreconditionFailed, "error.version.mismatch", "The condition in If-Match or If-None-Match does not hold: the object {{id}} has another version, or does not exist. Read it again before you repeat the request.")
	ContentChanged    = fault(PreconditionFailed, "error.content.changed", "The content does not meet the conditions of the request.")
	RangeUnsatisfied  = fault(NotSatisfiable, "error.range.not.satisfiable", "None of the requested ranges is within the {{size}} bytes of the content.")
	ObjectReferenced  = fault(Conflict, "error.object.referenced", "The object {{id}} of type {{type}} cannot be removed, because other objects refer to it. Those that you see are in params.objects, at most ten of them; params.more says whether you see more.")
	AlreadyExists     = fault(PreconditionFailed, "error.already.exists", "The object {{id}} already exists, and If-None-Match requires a new one.")
)

// Faults of the objects that a client sends. Each has params.field.
var (
	ReferencedObjectNotFound = fault(Invalid, "error.referenced.object.not.found", "The object {{id}} of type {{type}} that {{field}} refers to does not exist.")
	ReferenceMalformed       = invalid("error.reference.malformed", "{{field}} must be an id, or an object with an id.")
	ReferenceMismatch        = invalid("error.reference.mismatch", "{{field}} must refer to {{type}} whose {{property}} is {{expected}}.")
	PropertyRequired         = invalid("error.property.required", "{{field}} is required.")
	PropertyUnknown          = invalid("error.property.unknown", "{{field}} is not a property of {{type}}.")
	PropertyForbidden        = invalid("error.property.forbidden", "{{field}} cannot be set here.")
	TransitionForbidden      = invalid("error.transition.forbidden", "{{field}} cannot change from {{from}} to {{to}}.")
	ValueNotUnique           = invalid("error.value.not.unique", "Another object has the same {{field}}.")
	ValuesNotUnique          = invalid("error.values.not.unique", "Another object has the same values of {{field}} and {{others}}.")
	ValueForm                = invalid("error.value.form", "{{field}} must consist of letters, digits and ASCII punctuation, without spaces ({{form}}).")
	IDTaken                  = invalid("error.id.taken", "The id {{objectId}} is taken by another object of type {{type}}, which has another {{property}}.")
	DuplicateID              = invalid("error.id.duplicate", "The id {{objectId}} is duplicated in the request.")
	IDRequired               = invalid("error.id.required", "An object of type {{type}} requires an id.")
	ValueType                = invalid("error.value.type", "{{field}} must be of type {{expected}}.")
	ValueEnum                = invalid("error.value.enum", "{{field}} must be one of {{allowed}}.")
	ValueConst               = invalid("error.value.const", "{{field}} must be {{expected}}.")
	ValueFormat              = invalid("error.value.format", "{{field}} must have the format {{format}}.")
	ValueOffset              = invalid("error.value.offset", "{{field}} must have Z or an offset exactly if {{other}} has one.")
	ValuePattern             = invalid("error.value.pattern", "{{field}} must match {{pattern}}.")
	ValueTooShort            = invalid("error.value.too.short", "{{field}} is too short: the minimum length is {{limit}}.")
	ValueTooLong             = invalid("error.value.too.long", "{{field}} is too long: the maximum length is {{limit}}.")
	ValueTooSmall            = invalid("error.value.too.small", "{{field}} must be at least {{limit}}.")
	ValueTooLarge            = invalid("error.value.too.large", "{{field}} must be at most {{limit}}.")
	ValueNotAbove            = invalid("error.value.not.above", "{{field}} must be greater than {{limit}}.")
	ValueNotBelow            = invalid("error.value.not.below", "{{field}} must be less than {{limit}}.")
	ValueMultiple            = invalid("error.value.multiple", "{{field}} must be a multiple of {{limit}}.")
	ValueOutOfRange          = invalid("error.value.out.of.range", "The number at {{field}} is outside the range of a double.")
	ValueCharacter           = invalid("error.value.character", "{{field}} contains the character U+0000, which cannot be stored.")
	TooFewItems              = invalid("error.items.too.few", "{{field}} has too few items: the minimum is {{limit}}.")
	TooManyItems             = invalid("error.items.too.many", "{{field}} has too many items: the maximum is {{limit}}.")
	ItemsNotUnique           = invalid("error.items.not.unique", "{{field}} contains a duplicated item.")
	ItemsMissing             = invalid("error.items.missing", "{{field}} lacks a required item.")
	ItemsSurplus             = invalid("error.items.surplus", "{{field}} has too many items that match the keyword contains: the maximum is {{limit}}.")
	TooFewProperties         = invalid("error.properties.too.few", "{{field}} has too few properties: the minimum is {{limit}}.")
	TooManyProperties        = invalid("error.properties.too.many", "{{field}} has too many properties: the maximum is {{limit}}.")
	PropertyName             = invalid("error.property.name", "The name of {{field}} is not allowed.")
	ValueNotAllowed          = invalid("error.value.not.allowed", "{{field}} matches none of the schemas of {{keyword}}, which accept {{expected}}.")
	ValueAmbiguous           = invalid("error.value.ambiguous", "{{field}} matches more than one of the schemas of {{keyword}}.")
	ValueExcluded            = invalid("error.value.excluded", "{{field}} has a value that the keyword {{keyword}} excludes.")
	ValueOrder               = invalid("error.value.order", "{{field}} must be {{relation}} {{other}}.")
	ObjectTooComplex         = invalid("error.object.too.complex", "Validating the object takes more than {{limit}} steps; make it smaller.")
	BatchTypeUnknown         = invalid("error.batch.type.unknown", "{{field}} names the type {{type}}, which does not exist or cannot be written.")
	FileNotInFolder          = invalid("error.file.not.in.folder", "The folder that --files names does not contain the file {{file}}.")
	FolderUnreadable         = invalid("error.folder.unreadable", "The service cannot read the folder {{folder}} that --files names: it needs the folder under the same path.")
	CSVQuote                 = invalid("error.csv.quote", "This is not valid CSV: a quote is missing or not doubled in what begins in line {{line}}.")
	CSVFields                = invalid("error.csv.fields", "The line has {{count}} values, and the header {{expected}} columns.")
	BatchMember              = fault(Malformed, "error.batch.member", "An operation must have the members type and object, and may have ifMatch and ifNoneMatch; a batch must have the member operations.")
	BatchCondition           = fault(Malformed, "error.batch.condition", "{{field}} must be an entity tag as the header ETag has it, several of them, or *.")
)

// The service itself.
var (
	ConflictUnresolved = fault(Conflict, "error.conflict", "The write still conflicted with another one after several retries; try again.")
	InternalError      = fault(Internal, "error.internal", "Internal error. The log contains the cause under the request id {{requestId}}.")
	StoreUnavailable   = fault(Unavailable, "error.store.unavailable", "The store cannot be reached at present; try again later.")
	SpoolFull          = fault(Unavailable, "error.spool.full", "There is not enough space for temporary files; try again later.")
	StoreFull          = fault(Unavailable, "error.store.full", "The disk of the store is full: objects can be read but not written.")
	StoreDamaged       = fault(Unavailable, "error.store.damaged", "The store is damaged; it must be restored from a backup.")
	DeadlineExceeded   = fault(Unavailable, "error.deadline.exceeded", "The request exceeded its deadline; narrow it or try again later.")
	OutcomeUnknown     = fault(Unavailable, "error.outcome.unknown", "The store failed during the write, or the connection to it was lost, and it is unknown whether the write succeeded; read the objects before trying again.")
	SchemaOutdated     = fault(Unavailable, "error.schema.outdated", "Another server uses a newer schema of {{type}}; write through that server, or reload the schemas of this one.")
	ServerBusy         = fault(Unavailable, "error.server.busy", "The service is too busy at present; try again later.")
	Starting           = fault(Unavailable, "error.starting", "The service is starting: {{step}}. Try again later.")
	ShuttingDown       = fault(Unavailable, "error.shutting.down", "The service is shutting down; try again later.")
)

// Audit history.
var (
	AuditCreated = define(TypeAudit, "audit.object.created", "{{type}} {{id}} was created.")
	AuditUpdated = define(TypeAudit, "audit.object.updated", "{{type}} {{id}} was changed.")
	AuditRemoved = define(TypeAudit, "audit.object.removed", "{{type}} {{id}} was removed.")
)

// Causes of changes that no user made in person, in the history.
var (
	CauseObject   = define(TypeAudit, "audit.cause.object", "The service made this change because {{type}} {{id}} was written.")
	CauseOperator = define(TypeAudit, "audit.cause.operator", "The operator made this change on the machine of the service.")
	CauseToken    = define(TypeAudit, "audit.cause.token", "The API token {{id}} of the network {{context}} was used.")
	CauseSchema   = define(TypeAudit, "audit.cause.schema", "The service made this change because the schema of {{type}} asks for it.")
	CauseTime     = define(TypeAudit, "audit.cause.time", "The service made this change because the time at {{field}}, {{time}}, has passed.")
)

// NotificationWarning reports a new warning of an object.
var NotificationWarning = define(TypeNotification, "notification.warning.appeared", "{{type}} {{id}} has a new warning: {{warning}}.")

// WarnUnlisted is the last warning of an object with more warnings than are
// listed.
var WarnUnlisted = define(TypeWarning, "warning.others.unlisted", "The object has more warnings, which are not listed: {{count}}.")

// WarnPermissionUndeclared is a warning of a role, which is shown and not stored.
var WarnPermissionUndeclared = define(TypeWarning, "warning.permission.undeclared", "No schema uses the permission {{value}} any more; it grants nothing.")

// WarningUnknownProperty is sent in a Warning header, never stored.
var WarningUnknownProperty = define(TypeWarning, "warning.property.unknown", "{{field}} is not a property of {{type}} and was dropped.")

// WarningOwnersInDoubt is sent in a Warning header, never stored.
var WarningOwnersInDoubt = define(TypeWarning, "warning.owners.in.doubt", "Objects may be missing that belong to an object which has moved to another owner; they are shown when all of them have followed.")

// WarningDependantsFollow is sent in a Warning header, never stored.
var WarningDependantsFollow = define(TypeWarning, "warning.dependants.follow", "More {{type}} depend on this change than one request can write; they are updated soon afterwards.")
