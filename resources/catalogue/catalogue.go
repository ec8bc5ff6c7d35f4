// Package catalogue defines the messages of the advertising service, beside those
// of package message. It imports nothing else; begin with the type whose rule you
// look for.
package catalogue

import "marquee/engine/message"

// Messages are all definitions of this package.
var Messages message.Set

// Creatives, library creatives and layouts.
var (
	LibraryShared         = Messages.Fault(message.Forbidden, "error.library.creative.shared", "Creatives that you cannot see use the library creative.")
	SlotAmbiguous         = Messages.Invalid("error.creative.slot.ambiguous", "layoutParameters and {{field}} give the slot {{slot}} different new values; send one of them.")
	LayoutSlotSyntax      = Messages.Invalid("error.layout.slot.syntax", "Double braces must contain a slot name of letters, digits and _, and nothing else (line {{line}}, column {{column}}).")
	LayoutSlotOpen        = Messages.Invalid("error.layout.slot.open", "The double braces at line {{line}}, column {{column}} are not closed.")
	LayoutPlaceUnsafe     = Messages.Invalid("error.layout.place.unsafe", "The slot {{slot}} is in a place where values cannot be escaped safely (line {{line}}, column {{column}}).")
	LayoutPlaceAmbiguous  = Messages.Invalid("error.layout.place.ambiguous", "Browsers may disagree on the context of the slot {{slot}} because of the html before it (line {{line}}, column {{column}}).")
	LayoutURLUnsafe       = Messages.Invalid("error.layout.url.unsafe", "The slot {{slot}} is part of a URL that is never rendered (line {{line}}, column {{column}}).")
	LayoutSlotsTooMany    = Messages.Invalid("error.layout.slots.too.many", "The html has more than {{limit}} slots.")
	CreativeTooLarge      = Messages.Invalid("error.creative.html.too.large", "With these values, the html of the layout would have more than {{limit}} bytes.")
	WarnCreativeTooLarge  = Messages.Warning("warning.creative.html.too.large", "The html of the layout has more than {{limit}} bytes with these values, and is not rendered.")
	WarnLayoutSlotMissing = Messages.Warning("warning.layout.slot.missing", "The slot {{slot}} is declared but not used in the html.")
	WarnLayoutUndeclared  = Messages.Warning("warning.layout.slot.undeclared", "The slot {{slot}} is used in the html but not declared.")
	WarnLayoutMimeType    = Messages.Warning("warning.layout.mime.type.unknown", "No asset has the types {{values}}; the available types are {{allowed}}.")
	WarnLayoutSlotTwice   = Messages.Warning("warning.layout.slot.twice", "The slot {{slot}} is declared more than once; the last declaration counts.")
	WarnLayoutInactive    = Messages.Warning("warning.creative.layout.not.active", "The layout {{id}} is not active.")
	WarnSlotEmpty         = Messages.Warning("warning.creative.slot.empty", "The slot {{slot}} is required but empty.")
	WarnSlotUnknown       = Messages.Warning("warning.creative.slot.unknown", "The layout has no slot {{slot}}.")
	WarnSlotKind          = Messages.Warning("warning.creative.slot.kind", "The slot {{slot}} requires {{expected}}.")
	WarnSlotTooLong       = Messages.Warning("warning.creative.slot.too.long", "The text in the slot {{slot}} has more than {{limit}} characters.")
	WarnSlotURL           = Messages.Warning("warning.creative.url.unsafe", "The URL in the slot {{slot}} is neither http nor https, and is rendered as #.")
	WarnAssetInactive     = Messages.Warning("warning.creative.asset.not.active", "The asset {{id}} in the slot {{slot}} is not active.")
	WarnAssetType         = Messages.Warning("warning.creative.asset.type", "The asset {{id}} in the slot {{slot}} is {{value}}; the slot accepts {{allowed}}.")
	WarnAssetDimension    = Messages.Warning("warning.creative.asset.dimension", "The {{property}} of the asset {{id}} in the slot {{slot}} is not {{expected}}.")
	WarnAssetTooLarge     = Messages.Warning("warning.creative.asset.too.large", "The asset {{id}} in the slot {{slot}} has more than {{limit}} bytes.")
)

// Coupons.
var CouponExpiry = Messages.Invalid("error.coupon.expiry.out.of.range", "The period {{field}} ends after the year 9999.")

// Assets.
var (
	AssetFileMissing = Messages.Invalid("error.asset.file.missing", "An asset is created by an upload: send multipart/form-data with the file in the part file or asset.")
	AssetFileOther   = Messages.Invalid("error.asset.file.other", "The content of the file {{file}} differs from what was exported.")
	AssetFileMembers = Messages.Invalid("error.asset.file.said", "{{field}} must describe an exported file: name, sha256, size, delivery, and files, which maps each path to its SHA-256.")
	AssetTooLarge    = Messages.Fault(message.TooLarge, "error.asset.too.large", "The file is larger than {{limit}} bytes.")
	AssetType        = Messages.Fault(message.UnsupportedMediaType, "error.asset.type", "The type of the file is not supported; assets can be {{allowed}}.")
	AssetDamaged     = Messages.Invalid("error.asset.damaged", "The file appears to be {{value}}, but it is damaged.")
	AssetPixels      = Messages.Invalid("error.asset.pixels", "The image is {{width}} by {{height}} pixels in {{frames}} frames; all frames together can have at most {{limit}} pixels.")
	AssetToken       = Messages.Invalid("error.asset.token.too.large", "A tag, text or comment of an SVG can have at most {{limit}} bytes, and an element at most {{attributes}} attributes.")
	AssetMarkup      = Messages.Invalid("error.asset.markup", "An SVG must be well-formed XML in UTF-8 with the root svg of http://www.w3.org/2000/svg, at most {{limit}} levels deep and without declarations in a DOCTYPE.")
	BundleDamaged    = Messages.Invalid("error.bundle.damaged", "The ZIP cannot be read.")
	BundleEntries    = Messages.Invalid("error.bundle.entries.too.many", "A bundle can have at most {{limit}} entries.")
	NetworkQuota     = Messages.Fault(message.Invalid, "error.network.quota", "The files of the network {{context}} use {{used}} of at most {{limit}} bytes; the upload would add {{size}}.")
	BundleTooLarge   = Messages.Fault(message.TooLarge, "error.bundle.too.large", "The bundle unpacks to more than {{limit}} bytes.")
	BundleRatio      = Messages.Invalid("error.bundle.ratio", "{{entry}} unpacks to more than {{limit}} times its size.")
	BundlePath       = Messages.Invalid("error.bundle.path", "{{entry}} is not a valid path in a bundle: it must be relative, with at most {{limit}} bytes and {{levels}} levels, and / between its parts, none of which can be empty, . or ..")
	BundleRepeated   = Messages.Invalid("error.bundle.path.repeated", "{{entry}} is duplicated in the bundle.")
	BundleEncrypted  = Messages.Invalid("error.bundle.encrypted", "{{entry}} is encrypted.")
	BundleLink       = Messages.Invalid("error.bundle.link", "{{entry}} is neither a file nor a folder.")
	BundleEntryType  = Messages.Invalid("error.bundle.entry.type", "{{entry}} has an unsupported type, or its content does not match its name; a bundle can contain {{allowed}}.")
	BundlePrimary    = Messages.Invalid("error.bundle.primary", "A bundle requires an index.html at the top level, or exactly one HTML file.")
)

// Segments.
var (
	SegmentUnits       = Messages.Invalid("error.segment.units.ambiguous", "ttlUnits and {{field}} are the same property but have different values; send one of them.")
	SegmentLifeTooLong = Messages.Invalid("error.segment.life.too.long", "With {{field}}, the segment would expire after the year 9999.")
)

// Line items.
var (
	WarnOrderInactive    = Messages.Warning("warning.line.item.order.not.active", "The order {{id}} is {{state}}, and its line items cannot show ads.")
	WarnTierInactive     = Messages.Warning("warning.line.item.tier.not.active", "The tier {{id}} is {{state}}, and its line items cannot show ads.")
	WarnEventTypeUnknown = Messages.Warning("warning.line.item.event.type.unknown", "There is no custom event type {{id}}, so no action is counted.")
	WarnNoCreative       = Messages.Warning("warning.line.item.no.creative", "The line item has no creative that is APPROVED and ACTIVE.")
	WarnEnded            = Messages.Warning("warning.line.item.ended", "The end date {{endDate}} has passed.")
	WarnTargetHidden     = Messages.Warning("warning.line.item.target.hidden", "The targeting refers to hidden objects of the type {{type}} ({{count}}): {{ids}}.")
)

// Article search.
var (
	ArticleIndexBuilding = Messages.Fault(message.Unavailable, "error.article.index.not.ready", "The index of the articles is not ready yet; try again later.")
	ArticleEmbeddings    = Messages.Fault(message.Unavailable, "error.article.embeddings.unavailable", "The embeddings service cannot be reached at present; try again later.")
)
