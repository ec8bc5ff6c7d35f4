"""Eve with the two resources of the comparison, and a collection of tokens."""

import os

from eve import Eve
from eve.auth import TokenAuth


class Tokens(TokenAuth):
    def check_auth(self, token, allowed_roles, resource, method):
        return app.data.driver.db["accounts"].find_one({"token": token}) is not None


STRING = {"type": "string"}
NAME = {"type": "string", "required": True, "maxlength": 255}

settings = {
    "MONGO_URI": os.environ["PEER_MONGODB"],
    "RESOURCE_METHODS": ["GET", "POST"],
    "PAGINATION_LIMIT": 100,
    "DOMAIN": {
        "accounts": {
            "schema": {"token": STRING},
            "public_methods": ["POST"],
            "mongo_indexes": {"token": [("token", 1)]},
        },
        "folders": {
            "item_url": 'regex("[a-z0-9]+")',
            "schema": {"_id": STRING, "name": NAME},
        },
        "items": {
            "item_url": 'regex("[a-z0-9]+")',
            "mongo_indexes": {"folder_name": [("folder", 1), ("name", 1)]},
            "schema": {
                "_id": STRING,
                "name": NAME,
                "code": {"type": "string", "maxlength": 50},
                "amount": {"type": "integer", "min": 0},
                "note": {"type": "string", "maxlength": 1000},
                "folder": {
                    "type": "string",
                    "required": True,
                    "data_relation": {"resource": "folders", "field": "_id", "embeddable": True},
                },
            },
        },
    },
}
if "PEER_WRITE_CONCERN" in os.environ:
    settings["MONGO_WRITE_CONCERN"] = {"w": os.environ["PEER_WRITE_CONCERN"]}

app = Eve(settings=settings, auth=Tokens)


@app.route("/ready")
def ready():
    return "ready"
