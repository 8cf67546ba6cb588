import pymongo

def test_orders(cantle_uri):
    orders = pymongo.MongoClient(cantle_uri).shop.orders
    assert orders.insert_one({"total": 3}).acknowledged
