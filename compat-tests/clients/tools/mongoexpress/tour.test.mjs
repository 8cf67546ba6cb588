// A tour of mongo-express: what its user sees and does, by hand of a browser or without.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Binary, Decimal128, MongoClient, ObjectId } from 'mongodb';
import { login, startExpress } from './express.mjs';
import { Browser } from './browser.mjs';
import { Pages } from './pages.mjs';

const uri = process.env.CANTLE_URI;
const way = process.env.CANTLE_CHROMIUM ? 'browser' : 'pages';

let express, hands, client, books;

const alice = { // a value of each kind that the program reads and writes without loss
  _id: new ObjectId('64c0a1b2c3d4e5f601234567'), title: 'Alice', pages: 96, price: Decimal128.fromString('7.50'),
  printed: new Date('1865-11-26T00:00:00Z'), cover: new Binary(Buffer.from('rabbit')),
  tags: ['tea', 'cards'], author: { name: 'Carroll' }, translator: null,
};

before(async () => {
  client = await MongoClient.connect(uri);
  await client.db('library').dropDatabase();
  books = client.db('library').collection('books');
  await books.insertOne(alice);
  await books.insertMany(Array.from({ length: 24 }, (_, i) => ({ _id: `book ${i}`, title: `Volume ${i}`, pages: 100 + i })));
  express = await startExpress(uri, process.env.CANTLE_CA_FILE);
  hands = way === 'browser'
    ? await Browser.start(express.address, login, process.env.CANTLE_CHROMIUM) : new Pages(express.address, login);
});

after(async () => {
  await hands?.close();
  await express?.stop();
  await client?.close();
});

// step is one area of the table that the runner prints.
function step(name, check) {
  test(name, { timeout: 120_000 }, async () => {
    try {
      await check();
      console.log(`${way} ${name} ok`);
    } catch (error) {
      console.log(`${way} ${name} FAIL ${`${error.stack}\n${express?.said().slice(-3000)}`.replaceAll('\n', ' | ')}`);
      throw error;
    }
  });
}

const rows = 'tr[onclick^=loadDocument]';
const named = (name) => `h3 a[href$="/${name}"], h3 a[href$="/${name}/"]`;

// done expects the page to say that it was done.
async function done(text) {
  assert.deepEqual(await hands.texts('.alert-danger'), []);
  const [said] = await hands.texts('.alert-success');
  assert.match(said ?? '', text);
}

step('status', async () => {
  await hands.open('/');
  const cells = await hands.texts('table td');
  const shown = (label) => cells[cells.indexOf(label) + 1];
  assert.match(shown('MongoDB Version'), /^\d+\.\d+\.\d+$/);
  assert.match(shown('Hostname'), /:\d+$/);
  assert.ok(Number(shown('Current Connections')) >= 2, shown('Current Connections'));
  assert.ok(Number(shown('Available Connections')) > 0);
  assert.ok(Number(shown('Total Inserts')) >= 25, shown('Total Inserts'));
  assert.equal(shown('Queued Operations'), '0');
  assert.equal(shown('Clients Writing'), '0');
});

step('databases', async () => {
  await hands.open('/');
  assert.ok((await hands.texts('h3 a')).includes('library'));
  await hands.submit('form.form-inline', { '#database': 'atlas' });
  assert.ok((await hands.texts('h3 a')).includes('atlas'));
  assert.deepEqual((await client.db('atlas').listCollections().toArray()).map((c) => c.name), ['delete_me']);
  await hands.submit('form[action$="/atlas"]', {},
    { button: '.deleteButton', confirm: { dialog: '#confirm-deletion', text: 'atlas' } });
  assert.ok(!(await hands.texts('h3 a')).includes('atlas'));
  const { databases } = await client.db().admin().listDatabases({ nameOnly: true });
  assert.ok(!databases.some((d) => d.name === 'atlas'));
});

step('collections', async () => {
  await hands.open('/');
  await hands.follow(named('library'));
  assert.ok((await hands.texts('h3 a')).includes('books'));
  await hands.submit('form.form-inline', { '#collection': 'shelves' });
  await done(/Collection created/);
  await hands.submit('form.well.form-inline', { '#collection': 'cases' });
  await done(/Collection renamed/);
  assert.deepEqual(await hands.texts('#pageTitle'), ['Viewing Collection: cases']);
  await hands.open('/db/library');
  await hands.submit('form[action$="/library/cases"]', {},
    { button: '.deleteButton', confirm: { dialog: '#confirm-deletion', text: 'cases' } });
  await done(/"cases" deleted/);
  assert.deepEqual((await client.db('library').listCollections().toArray()).map((c) => c.name), ['books']);
});

step('documents', async () => {
  await hands.open('/db/library');
  await hands.follow(named('books'));
  assert.equal((await hands.texts(rows)).length, 10, 'a page has ten documents');
  assert.ok((await hands.texts('#deleteListForm button'))[0].includes('25 documents'));
  await hands.submit('#addDocumentForm', { '#document': '{ _id: ObjectId("64c0a1b2c3d4e5f6012345aa"), title: "Sylvie", pages: 400 }' },
    { opener: 'button[data-target="#addDocument"]' });
  await done(/Document added/);
  const sylvie = new ObjectId('64c0a1b2c3d4e5f6012345aa');
  assert.deepEqual(await books.findOne({ _id: sylvie }), { _id: sylvie, title: 'Sylvie', pages: 400 });

  await hands.open(`/db/library/books/${encodeURIComponent(JSON.stringify(sylvie.toHexString()))}`);
  await hands.submit('#documentEditForm',
    { '#document': '{ _id: ObjectId("64c0a1b2c3d4e5f6012345aa"), title: "Sylvie and Bruno", pages: 401, sold: [1, { in: "London" }] }' });
  await done(/Document updated/);
  assert.deepEqual(await books.findOne({ _id: sylvie }),
    { _id: sylvie, title: 'Sylvie and Bruno', pages: 401, sold: [1, { in: 'London' }] });

  await hands.open('/db/library/books?key=title&value=Sylvie and Bruno&type=S');
  await hands.submit('form.deleteButtonDocument', {}, { confirm: { dialog: '#confirm-deletion-document' } });
  await done(/Document deleted/);
  assert.equal(await books.countDocuments(), 25);
});

step('editing', async () => { // an edit that changes one field leaves all others as they were
  await hands.open(`/db/library/books/${encodeURIComponent(JSON.stringify(alice._id.toHexString()))}`);
  const [shown] = await hands.texts('textarea#document');
  assert.match(shown, /pages: 96\b/);
  await hands.submit('#documentEditForm', { '#document': shown.replace(/pages: 96\b/, 'pages: 97') });
  await done(/Document updated/);
  assert.deepEqual(await books.findOne({ _id: alice._id }, { promoteValues: false }),
    await asRead({ ...alice, pages: 97 }));
});

// asRead stores a document elsewhere and reads it as the books are read.
async function asRead(doc) {
  const other = client.db('library_before').collection('books');
  await other.insertOne(doc);
  const read = await other.findOne({ _id: doc._id }, { promoteValues: false });
  await client.db('library_before').dropDatabase();
  return read;
}

step('search', async () => {
  await hands.open('/db/library/books');
  await hands.submit('#simple form', { '#key': 'title', '#value': '^volume 2', 'select[name=type]': 'R' });
  assert.equal((await hands.texts(rows)).length, 5);
  await hands.open('/db/library/books');
  await hands.submit('#simple form', { '#key': 'pages', '#value': '103', 'select[name=type]': 'N' });
  assert.match((await hands.texts(rows)).join(), /Volume 3/);
  await hands.open('/db/library/books?query={}');
  await hands.submit('#advanced form', { '#query': '{pages: {$gte: 120}}', '#projection': '{title: 1}' });
  assert.equal((await hands.texts(rows)).length, 4);
  await hands.open('/db/library/books?query={}');
  await hands.submit('#advanced form',
    { '#query': '[{$group: {_id: {$gt: ["$pages", 110]}, n: {$sum: 1}}}, {$sort: {_id: 1}}]', '#runAggregate': true });
  assert.deepEqual((await hands.texts(`${rows} td`)).map((t) => t.replaceAll(/\s+/g, ' ')), ['false', '12', 'true', '13']);
  await hands.open('/db/library/books?skip=20&sort[_id]=-1');
  assert.equal((await hands.texts(rows)).length, 5);
});

step('indexes', async () => {
  await hands.open('/db/library/books');
  assert.match((await hands.texts('#indexes')).join(), /_id_/);
  await hands.submit('#addIndexForm', { '#index': '{ title: 1, pages: -1 }' }, { opener: 'button[data-target="#addIndex"]' });
  await done(/Index created/);
  assert.match((await hands.texts('#indexes')).join(), /title_1_pages_-1/);
  assert.deepEqual((await books.indexes()).map((i) => i.key), [{ _id: 1 }, { title: 1, pages: -1 }]);
  await hands.submit('#addIndexForm', { '#index': '{ title: "sideways" }' }, { opener: 'button[data-target="#addIndex"]' });
  assert.match((await hands.texts('.alert-danger')).join(), /sideways/);
  await hands.follow('a[href$="dropIndex/books?name=title_1_pages_-1"]');
  await done(/Index deleted/);
  assert.deepEqual((await books.indexes()).map((i) => i.name), ['_id_']);
});

step('export', async () => {
  await hands.open('/db/library/books?key=pages&value=103&type=N');
  const lines = await hands.download('a[href*="/export/books"]');
  assert.deepEqual(JSON.parse(lines), { _id: 'book 3', title: 'Volume 3', pages: 103 });
  assert.match(await hands.download('a[href*="/expCsv/books"]'), /"?book 3"?,"?Volume 3"?,103/);
});

step('upkeep', async () => {
  await hands.open('/db/library/books');
  await hands.follow('a[href$="/compact/books"]');
  await done(/compacted/);
  await hands.submit('form.well:has(.deleteButtonCollection)', {},
    { button: '.deleteButtonCollection', confirm: { dialog: '#confirm-deletion-collection', text: 'books' } });
  await done(/"books" deleted/);
  assert.equal(await books.countDocuments(), 0);
});
