package message

// The rules of single types of the advertising service.

func warning(code, text string) *Definition { return define(None, TypeWarning, code, text) }

// Creatives, library creatives and layouts.
var (
	LibraryShared         = fault(Forbidden, "error.library.creative.shared", "Creatives that you do not see use the library creative.")
	SlotAmbiguous         = invalid("error.creative.slot.ambiguous", "layoutParameters and {{field}} give the slot {{slot}} different new values; send one of them.")
	LayoutSlotSyntax      = invalid("error.layout.slot.syntax", "Double braces hold a slot, which is letters, digits and _, and nothing else (line {{line}}, column {{column}}).")
	LayoutSlotOpen        = invalid("error.layout.slot.open", "The double braces in line {{line}}, column {{column}} are not closed.")
	LayoutPlaceUnsafe     = invalid("error.layout.place.unsafe", "The slot {{slot}} stands where no value can be escaped safely (line {{line}}, column {{column}}).")
	LayoutPlaceAmbiguous  = invalid("error.layout.place.ambiguous", "Browsers may differ on where the slot {{slot}} stands, because of the html before it (line {{line}}, column {{column}}).")
	LayoutURLUnsafe       = invalid("error.layout.url.unsafe", "The slot {{slot}} is part of a URL that is never rendered (line {{line}}, column {{column}}).")
	WarnLayoutSlotMissing = warning("warning.layout.slot.missing", "The slot {{slot}} is declared, and does not stand in the html.")
	WarnLayoutUndeclared  = warning("warning.layout.slot.undeclared", "The slot {{slot}} stands in the html, and is not declared.")
	WarnLayoutSlotTwice   = warning("warning.layout.slot.twice", "The slot {{slot}} is declared more than once; the last declaration counts.")
	WarnLayoutInactive    = warning("warning.creative.layout.not.active", "The layout {{id}} is not active.")
	WarnSlotEmpty         = warning("warning.creative.slot.empty", "The slot {{slot}} is required, and empty.")
	WarnSlotUnknown       = warning("warning.creative.slot.unknown", "The layout has no slot {{slot}}.")
	WarnSlotKind          = warning("warning.creative.slot.kind", "The slot {{slot}} takes {{expected}}.")
	WarnSlotTooLong       = warning("warning.creative.slot.too.long", "The text in the slot {{slot}} has more than {{limit}} characters.")
	WarnSlotURL           = warning("warning.creative.url.unsafe", "The URL in the slot {{slot}} is neither http nor https, and is rendered as #.")
	WarnAssetInactive     = warning("warning.creative.asset.not.active", "The asset {{id}} in the slot {{slot}} is not active.")
	WarnAssetType         = warning("warning.creative.asset.type", "The asset {{id}} in the slot {{slot}} is {{value}}; the slot takes {{allowed}}.")
	WarnAssetDimension    = warning("warning.creative.asset.dimension", "The {{property}} of the asset {{id}} in the slot {{slot}} is not {{expected}}.")
	WarnAssetTooLarge     = warning("warning.creative.asset.too.large", "The asset {{id}} in the slot {{slot}} has more than {{limit}} bytes.")
)

// Coupons.
var CouponExpiry = invalid("error.coupon.expiry.out.of.range", "The period {{field}} ends after the year 9999.")

// Assets.
var (
	AssetFileMissing = invalid("error.asset.file.missing", "An asset is made by an upload: send multipart/form-data with the file in the part file or asset.")
	AssetFileOther   = invalid("error.asset.file.other", "The file {{file}} does not hold what was exported.")
	AssetFileSaid    = invalid("error.asset.file.said", "{{field}} does not tell of files as an export does: name, sha256, size, delivery, and files, their SHA-256 by paths.")
	AssetTooLarge    = fault(TooLarge, "error.asset.too.large", "The file is larger than {{limit}} bytes.")
	AssetType        = fault(UnsupportedMediaType, "error.asset.type", "The file is of no type that assets have: {{allowed}}.")
	AssetDamaged     = invalid("error.asset.damaged", "The file begins as {{value}}, and cannot be read as such.")
	AssetPixels      = invalid("error.asset.pixels", "The image is {{width}} by {{height}} pixels in {{frames}} frames; all frames together take at most {{limit}} pixels.")
	AssetMarkup      = invalid("error.asset.markup", "An SVG is well-formed XML in UTF-8 with the root svg of http://www.w3.org/2000/svg, at most {{limit}} levels deep and without declarations of its own in a DOCTYPE.")
	BundleDamaged    = invalid("error.bundle.damaged", "The ZIP cannot be read.")
	BundleEntries    = invalid("error.bundle.entries.too.many", "A bundle has at most {{limit}} entries.")
	BundleTooLarge   = fault(TooLarge, "error.bundle.too.large", "The files of the bundle have more than {{limit}} bytes together.")
	BundleRatio      = invalid("error.bundle.ratio", "{{entry}} unpacks to more than {{limit}} times its size.")
	BundlePath       = invalid("error.bundle.path", "{{entry}} is no path that a bundle takes: relative, of at most {{limit}} bytes and {{levels}} levels, with / between its parts, none of which is empty, . or ..")
	BundleRepeated   = invalid("error.bundle.path.repeated", "{{entry}} stands twice in the bundle.")
	BundleEncrypted  = invalid("error.bundle.encrypted", "{{entry}} is encrypted.")
	BundleLink       = invalid("error.bundle.link", "{{entry}} is neither a file nor a folder.")
	BundleEntryType  = invalid("error.bundle.entry.type", "{{entry}} is no file that a bundle takes, or not what its name says: {{allowed}}.")
	BundlePrimary    = invalid("error.bundle.primary", "A bundle needs an index.html at its top, or only one HTML file.")
)

// Segments.
var (
	SegmentUnits       = invalid("error.segment.units.ambiguous", "ttlUnits and {{field}} are one property and have different values; send one of them.")
	SegmentLifeTooLong = invalid("error.segment.life.too.long", "With {{field}}, the segment would live beyond the year 9999.")
)

// Line items.
var (
	WarnOrderInactive = warning("warning.line.item.order.not.active", "The order {{id}} is {{state}}, and its line items cannot show ads.")
	WarnTierInactive  = warning("warning.line.item.tier.not.active", "The tier {{id}} is {{state}}, and its line items cannot show ads.")
	WarnNoCreative    = warning("warning.line.item.no.creative", "The line item has no creative that is APPROVED and ACTIVE.")
	WarnEnded         = warning("warning.line.item.ended", "The end date {{endDate}} has passed.")
	WarnTargetHidden  = warning("warning.line.item.target.hidden", "The targeting points at hidden objects of the type {{type}} ({{count}} in all): {{ids}}.")
)

// Article search.
var (
	ArticleIndexBuilding = fault(Unavailable, "error.article.index.not.ready", "The index of the articles is not ready yet; try again later.")
	ArticleEmbeddings    = fault(Unavailable, "error.article.embeddings.unavailable", "The embeddings service cannot be reached at present; try again later.")
)
