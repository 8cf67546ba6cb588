// Mongoose, the usual way from Node to a schema.
import assert from 'node:assert/strict';
import mongoose from 'mongoose';
import { area, cosmos, uri } from './area.mjs';

const check = (name, f) => area('mongoose', name, f);
const { Schema } = mongoose;

const author = new Schema({ name: { type: String, required: true, index: true }, born: Number }, { timestamps: true });
const book = new Schema({
  title: { type: String, unique: true },
  pages: { type: Number, min: 1 },
  tags: [String],
  price: mongoose.Types.Decimal128,
  ratings: { type: Map, of: Number },
  author: { type: Schema.Types.ObjectId, ref: 'Author' },
}, { optimisticConcurrency: true });
book.virtual('long').get(function () { return this.pages > 500; });

// within connects and hands over models on empty collections.
async function within(use) {
  const connection = await mongoose.createConnection(uri, { dbName: 'clients_mongoose', autoIndex: false }).asPromise();
  try {
    await connection.dropDatabase();
    const [Author, Book] = [connection.model('Author', author), connection.model('Book', book)];
    await Author.createCollection();
    await Book.createCollection();
    await Author.syncIndexes();
    await Book.syncIndexes();
    const said = await use({ connection, Author, Book });
    await connection.dropDatabase();
    return said;
  } finally {
    await connection.close();
  }
}

check('connect', () => within(async ({ connection }) => {
  assert.equal(connection.readyState, 1);
  assert.deepEqual((await connection.listCollections()).map((c) => c.name).sort(), ['authors', 'books']);
}));

check('crud', () => within(async ({ Author, Book }) => {
  const ada = await Author.create({ name: 'Ada', born: 1815 });
  await assert.rejects(Author.create({ born: 1 }), { name: 'ValidationError' });
  const b = await Book.create({ title: 'Notes', pages: 600, tags: ['math'], price: '12.50', ratings: { x: 5 }, author: ada });
  assert.ok(b.long);
  const found = await Book.findOne({ 'ratings.x': 5 }).populate('author');
  assert.deepEqual([found.author.name, String(found.price), found.ratings.get('x')], ['Ada', '12.50', 5]);
  found.tags.push('engine');
  found.pages++;
  await found.save();
  await assert.rejects(b.set('pages', 3).save(), { name: 'VersionError' });
  assert.equal((await Book.findOneAndUpdate({ title: 'Notes' }, { $pull: { tags: 'math' } }, { new: true })).tags.length, 1);
  assert.equal((await Author.updateMany({}, { born: 1816 })).modifiedCount, 1);
  assert.equal(await Book.countDocuments().where('pages').gte(601), 1);
  assert.equal((await Book.exists({ title: 'Notes' }))._id.equals(b._id), true);
  assert.equal((await Book.deleteOne({ _id: b._id })).deletedCount, 1);
}));

check('bulk', () => within(async ({ Book }) => {
  await Book.insertMany(Array.from({ length: 50 }, (_, i) => ({ title: `t${i}`, pages: i + 1 })));
  const r = await Book.bulkWrite([{ updateOne: { filter: { title: 't1' }, update: { pages: 7 } } }, { deleteOne: { filter: { title: 't2' } } }]);
  assert.deepEqual([r.modifiedCount, r.deletedCount], [1, 1]);
}));

check('bulkwrite', () => within(async ({ connection, Author, Book }) => {
  if (cosmos) return { skip: 'the service says 7.0, which has no bulkWrite' };
  const r = await connection.bulkWrite([
    { model: 'Author', name: 'insertOne', document: { name: 'Ada' } },
    { model: 'Book', name: 'insertOne', document: { title: 'Notes', pages: '12' } },
    { model: 'Book', name: 'updateOne', filter: { title: 'Notes' }, update: { $push: { tags: 'math' } } },
  ]);
  assert.deepEqual([r.insertedCount, r.modifiedCount], [2, 1]);
  assert.ok((await Author.findOne({ name: 'Ada' })).createdAt instanceof Date);
  assert.deepEqual((await Book.findOne({ pages: 12 }).lean()).tags, ['math']);
}));

check('cursors', () => within(async ({ Book }) => {
  await Book.insertMany(Array.from({ length: 50 }, (_, i) => ({ title: `t${i}`, pages: i + 1 })));
  let n = 0;
  for await (const b of Book.find().sort('-_id').batchSize(7).lean()) n += b.pages;
  assert.equal(n, 1275);
  await Book.find().cursor({ batchSize: 5 }).eachAsync(() => n++, { parallel: 3 });
  assert.equal(n, 1325);
}));

check('indexes', () => within(async ({ Author, Book }) => {
  assert.deepEqual(Object.keys(await Book.collection.indexInformation()).sort(), ['_id_', 'title_1']);
  assert.deepEqual(await Author.syncIndexes(), []);
  await Book.create({ title: 'same', pages: 1 });
  await assert.rejects(Book.create({ title: 'same', pages: 1 }), { code: 11000 });
}));

check('aggregation', () => within(async ({ Author, Book }) => {
  const ada = await Author.create({ name: 'Ada' });
  await Book.insertMany([{ title: 'a', pages: 3, author: ada }, { title: 'b', pages: 4, author: ada }]);
  const [row] = await Book.aggregate().group({ _id: '$author', pages: { $sum: '$pages' } })
    .lookup({ from: 'authors', localField: '_id', foreignField: '_id', as: 'who' }).unwind('who');
  assert.deepEqual([row.pages, row.who.name], [7, 'Ada']);
}));

check('transactions', () => within(async ({ connection, Author }) => {
  await connection.transaction(async (session) => {
    await Author.create([{ name: 'in' }], { session });
    assert.equal(await Author.countDocuments().session(session), 1);
  });
  await assert.rejects(connection.transaction(async (session) => {
    await Author.create([{ name: 'out' }], { session });
    throw new Error('enough');
  }), { message: 'enough' });
  assert.deepEqual(await Author.distinct('name'), ['in']);
}));

check('changestreams', () => within(async ({ Author }) => {
  const stream = Author.watch([{ $match: { operationType: { $in: ['insert', 'update', 'replace'] } } },
    { $project: { _id: 1, fullDocument: 1, ns: 1, documentKey: 1 } }], { fullDocument: 'updateLookup', hydrate: true });
  const seen = new Promise((resolve, reject) => stream.on('change', resolve).on('error', reject));
  // The stream opens at some time after it is asked for, so there is always one more author.
  const writing = setInterval(() => Author.create({ name: 'seen' }).catch(() => {}), 100);
  try {
    const { fullDocument } = await seen;
    assert.equal(fullDocument.name, 'seen');
    assert.ok(fullDocument instanceof Author);
  } finally {
    clearInterval(writing);
    await stream.close();
  }
}));
