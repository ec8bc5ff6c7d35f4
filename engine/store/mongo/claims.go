package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

// Claims implements store.Snapshot.
func (v *view) Claims(ctx context.Context, claims []store.Claim) (map[store.Claim]string, error) {
	owners := map[store.Claim]string{}
	if len(claims) == 0 {
		return owners, v.guard(ctx)
	}
	ids := make(bson.A, len(claims))
	for i, claim := range claims {
		ids[i] = claimID(claim)
	}
	err := v.rows(ctx, claimsCollection, bson.D{{Key: record.FieldID, Value: bson.D{{Key: "$in", Value: ids}}}}, claimed(func(claim store.Claim, owner string) error {
		owners[claim] = owner
		return nil
	}), byID(len(ids)))
	return owners, err
}

// claimed returns a function that decodes claims.
func claimed(yield func(claim store.Claim, owner string) error) func(bson.Raw) error {
	return func(raw bson.Raw) error {
		var claim struct {
			ID    claimKey `bson:"_id"`
			Owner string
		}
		if err := bson.Unmarshal(raw, &claim); err != nil {
			return err
		}
		return yield(store.Claim(claim.ID), claim.Owner)
	}
}

// ClaimsAfter implements store.Snapshot.
func (v *view) ClaimsAfter(ctx context.Context, r store.ClaimRange, yield func(store.Claim, string) error) error {
	if r.Limit <= 0 {
		return v.guard(ctx)
	}
	first, end := r.After, r.After
	first.Value, end.Value = max(r.After.Value, r.Prefix), store.Beyond(r.Prefix)
	from := "$gt"
	if first.Value != r.After.Value {
		from = "$gte"
	}
	return v.rows(ctx, claimsCollection, bson.D{{Key: record.FieldID, Value: bson.D{{Key: from, Value: claimID(first)}, {Key: "$lt", Value: claimID(end)}}}}, claimed(yield),
		options.Find().SetSort(bson.D{{Key: record.FieldID, Value: 1}}).SetLimit(int64(r.Limit)))
}

// claimKey is the _id of a claim, in the order of the shard key.
type claimKey struct{ Collection, Network, Property, Value string }

func claimID(claim store.Claim) bson.D {
	return bson.D{{Key: "network", Value: claim.Network}, {Key: "collection", Value: claim.Collection},
		{Key: "property", Value: claim.Property}, {Key: "value", Value: claim.Value}}
}

// addClaims makes a record the owner of values; it may own some already. The
// filter of a value with another owner matches nothing, so its upsert conflicts
// with the existing _id.
func addClaims(ctx context.Context, b *bulk, claims []store.Claim, owner string) error {
	for _, claim := range claims {
		err := b.addD(ctx, bson.D{{Key: "q", Value: bson.D{{Key: record.FieldID, Value: claimID(claim)}, {Key: "owner", Value: owner}}},
			{Key: "u", Value: bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "owner", Value: owner}}}}}, {Key: "upsert", Value: true}})
		if err != nil {
			return err
		}
	}
	return nil
}

// disclaim drops the claims that writes give up.
func (t *transaction) disclaim(ctx context.Context, writes []store.Write) error {
	drops := t.deletes(claimsCollection)
	for i := range writes {
		for _, claim := range writes[i].DropClaims {
			if err := drops.delete(ctx, bson.D{{Key: record.FieldID, Value: claimID(claim)}, {Key: "owner", Value: writes[i].ID}}, 1); err != nil {
				return err
			}
		}
	}
	return drops.send(ctx)
}
