"""Beanie, asynchronous documents checked by Pydantic."""
import asyncio
import datetime

import pytest
from beanie import BulkWriter, Document, Indexed, Link, Replace, SaveChanges, WriteRules, before_event, init_beanie
from beanie.exceptions import RevisionIdWasChanged
from beanie.operators import Inc, Push, RegEx, Set
from conftest import URI
from pydantic import BaseModel, Field, ValidationError
from pymongo import AsyncMongoClient, DESCENDING, IndexModel
from pymongo.errors import DuplicateKeyError

DB = "clients_beanie"


class Author(Document):
    name: str
    born: int = Field(default=0, ge=0)


class Note(BaseModel):
    text: str
    stars: int


class Book(Document):
    title: Indexed(str, unique=True)
    pages: int = 1
    tags: list[str] = []
    notes: list[Note] = []
    author: Link[Author] | None = None
    printed: datetime.datetime = datetime.datetime(2020, 1, 1)
    slug: str = ""

    @before_event(Replace, SaveChanges)
    def note_slug(self):
        self.slug = self.title.lower()

    class Settings:
        name = "books"
        use_revision = True
        indexes = [IndexModel([("pages", DESCENDING), ("title", 1)], name="by_pages")]


class Title(BaseModel):
    title: str


class Thickness(BaseModel):
    id: str = Field(alias="_id")
    pages: int


def inside(test):
    """Runs a coroutine with a client and models bound to an empty database."""

    async def whole():
        async with AsyncMongoClient(URI, appname="beanie") as client:
            await client.drop_database(DB)
            await init_beanie(database=client[DB], document_models=[Author, Book])
            await test(client)
            await client.drop_database(DB)

    def run():
        asyncio.run(whole())

    run.__name__ = test.__name__
    return run


@inside
async def test_connect(client):
    assert (await client.admin.command("ping"))["ok"] == 1
    assert Book.get_pymongo_collection().name == "books"


@inside
async def test_crud(client):
    with pytest.raises(ValidationError):
        Author(name="x", born=-1)
    book = Book(title="Notes", pages=10, tags=["math"], notes=[Note(text="G", stars=5)], author=Author(name="Ada", born=1815))
    await book.insert(link_rule=WriteRules.WRITE)
    found = await Book.find_one(Book.title == "Notes", fetch_links=True)
    assert found.author.name == "Ada" and found.notes[0].text == "G" and found.printed.year == 2020
    stale = await Book.get(found.id)
    found.pages = 11
    await found.replace()
    assert (await Book.get(found.id)).slug == "notes"
    stale.pages = 99
    with pytest.raises(RevisionIdWasChanged):
        await stale.replace()
    await Book.find_one(Book.title == "Notes").update(Inc({Book.pages: 1}), Push({Book.tags: "x"}))
    assert await Book.find(Book.pages > 11, Book.tags == "x", RegEx(Book.title, "^no", options="i")).count() == 1
    upserted = await Book.find_one(Book.title == "New").upsert(Set({Book.pages: 2}), on_insert=Book(title="New"))
    assert upserted.title == "New"
    assert (await Book.find_one(Book.title == "New")).pages == 1
    await (await Book.find_one(Book.title == "New")).delete()
    assert [b.title for b in await Book.find_all().to_list()] == ["Notes"]


@inside
async def test_bulk(client):
    assert len((await Book.insert_many([Book(title=f"t{i}", pages=i) for i in range(100)])).inserted_ids) == 100
    r = await Book.find(Book.pages < 50).update(Set({Book.tags: ["thin"]}))
    assert r.modified_count == 50
    async with BulkWriter() as writer:
        await Book.find_one(Book.title == "t1").update(Inc({Book.pages: 1000}), bulk_writer=writer)
        await Book.find(Book.pages >= 90).delete(bulk_writer=writer)
    assert await Book.find_one(Book.title == "t1") is None
    assert (await Book.find(Book.tags == "thin").delete()).deleted_count == 49


@inside
async def test_cursors(client):
    await Book.insert_many([Book(title=f"t{i:03}", pages=i) for i in range(250)])
    page = Book.find(batch_size=20).sort(-Book.pages).skip(10).limit(10)
    assert [b.pages async for b in page] == list(range(239, 229, -1))
    n = 0
    async for _ in Book.find(Book.pages >= 0, batch_size=30).project(Title):
        n += 1
    assert n == 250


@inside
async def test_indexes(client):
    assert {"_id_", "by_pages", "title_1"} == set(await Book.get_pymongo_collection().index_information())
    await Book(title="same").insert()
    with pytest.raises(DuplicateKeyError):
        await Book(title="same").insert()


@inside
async def test_aggregation(client):
    await Book.insert_many([Book(title="a", pages=3, tags=["x"]), Book(title="b", pages=4, tags=["x", "y"])])
    rows = await Book.find(Book.pages > 2).aggregate(
        [{"$unwind": "$tags"}, {"$group": {"_id": "$tags", "pages": {"$sum": "$pages"}}}, {"$sort": {"_id": 1}}],
        projection_model=Thickness).to_list()
    assert [(r.id, r.pages) for r in rows] == [("x", 7), ("y", 4)]
    assert await Book.sum(Book.pages) == 7 and await Book.find(Book.tags == "y").avg(Book.pages) == 4
    assert await Book.distinct("tags") == ["x", "y"]


@inside
async def test_transactions(client):
    await Book(title="before").insert()

    async def move(session, title):
        await Book(title=title).insert(session=session)
        await Book.find_one(Book.title == "before", session=session).update(Inc({Book.pages: 1}))

    async with client.start_session() as session:
        async with await session.start_transaction():
            await move(session, "kept")
        with pytest.raises(ZeroDivisionError):
            async with await session.start_transaction():
                await move(session, "lost")
                assert await Book.find(session=session).count() == 3
                1 / 0
    assert sorted([b.title for b in await Book.find_all().to_list()]) == ["before", "kept"]
    assert (await Book.find_one(Book.title == "before")).pages == 2


@inside
async def test_changestreams(client):
    pipeline = [{"$match": {"operationType": {"$in": ["insert", "update", "replace"]}}},
                {"$project": {"_id": 1, "fullDocument": 1, "ns": 1, "documentKey": 1}}]
    async with await Book.get_pymongo_collection().watch(pipeline, full_document="updateLookup") as stream:
        book = await Book(title="seen").insert()
        assert (await stream.next())["fullDocument"]["title"] == "seen"
        await book.set({Book.pages: 5})
        event = await stream.next()
        assert Book.model_validate(event["fullDocument"]).pages == 5 and event["documentKey"]["_id"] == book.id
