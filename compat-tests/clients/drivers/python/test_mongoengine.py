"""MongoEngine, documents as Python classes."""
import datetime

import pytest
from conftest import COSMOS, URI
from mongoengine import (
    DateTimeField, Document, EmbeddedDocument, EmbeddedDocumentListField, IntField, ListField, Q, ReferenceField, StringField,
    ValidationError, connect, disconnect,
)
from mongoengine.errors import DoesNotExist, NotUniqueError

DB = "clients_mongoengine"


class Author(Document):
    name = StringField(required=True)
    born = IntField(min_value=0)


class Note(EmbeddedDocument):
    text = StringField()
    stars = IntField()


class Book(Document):
    title = StringField(unique=True)
    pages = IntField(default=1)
    tags = ListField(StringField())
    notes = EmbeddedDocumentListField(Note)
    author = ReferenceField(Author)
    printed = DateTimeField(default=lambda: datetime.datetime(2020, 1, 1))
    meta = {"indexes": [{"fields": ["-pages", "title"], "name": "by_pages"}]}


@pytest.fixture(autouse=True)
def database():
    client = connect(DB, host=URI)
    client.drop_database(DB)
    Book.ensure_indexes()
    yield client
    client.drop_database(DB)
    disconnect()


def test_connect(database):
    assert database.admin.command("ping")["ok"] == 1


def test_crud():
    ada = Author(name="Ada", born=1815).save()
    with pytest.raises(ValidationError):
        Author(born=-1).save()
    book = Book(title="Notes", pages=10, tags=["math"], notes=[Note(text="G", stars=5)], author=ada).save()
    book.reload()
    assert book.author.name == "Ada" and book.notes.get(stars=5).text == "G"
    book.pages = 11
    book.tags.append("engine")
    book.save()
    assert Book.objects(Q(pages__gt=10) & Q(tags="engine")).count() == 1
    assert Book.objects(title="Notes").update_one(push__tags="x", inc__pages=1) == 1
    assert Book.objects(title="Notes").modify(new=True, pull__tags="x").pages == 12
    assert Book.objects.only("title").first().title == "Notes"
    book.delete()
    with pytest.raises(DoesNotExist):
        Book.objects.get(title="Notes")


def test_bulk():
    Book.objects.insert([Book(title=f"t{i}", pages=i) for i in range(100)])
    assert Book.objects(pages__lt=50).update(set__tags=["thin"]) == 50
    assert Book.objects(tags="thin").delete() == 50


def test_cursors():
    Book.objects.insert([Book(title=f"t{i:03}", pages=i) for i in range(250)])
    assert [b.pages for b in Book.objects.order_by("-pages").batch_size(20)[10:20]] == list(range(239, 229, -1))
    assert sum(1 for _ in Book.objects.batch_size(30).no_cache()) == 250


def test_indexes():
    assert {"_id_", "by_pages", "title_1"} == set(Book._get_collection().index_information())
    Book(title="same").save()
    with pytest.raises(NotUniqueError):
        Book(title="same").save()


def test_aggregation():
    ada = Author(name="Ada").save()
    Book.objects.insert([Book(title="a", pages=3, author=ada), Book(title="b", pages=4, author=ada)])
    [row] = Book.objects.aggregate([{"$group": {"_id": "$author", "pages": {"$sum": "$pages"}}},
                                    {"$lookup": {"from": "author", "localField": "_id", "foreignField": "_id", "as": "who"}}])
    assert row["pages"] == 7 and row["who"][0]["name"] == "Ada"
    assert Book.objects.sum("pages") == 7 and Book.objects.average("pages") == 3.5
    if not COSMOS:
        assert Book.objects.item_frequencies("pages", map_reduce=True) == {3: 1, 4: 1}

