//! The official Rust driver: one function per area, and the line per area that the runner reads.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::io::{AsyncReadExt, AsyncWriteExt};
use futures::{FutureExt, StreamExt, TryStreamExt};
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::{Error, ErrorKind, WriteFailure};
use mongodb::event::EventHandler;
use mongodb::event::command::CommandEvent;
use mongodb::options::{
    ClientOptions, DeleteOneModel, FullDocumentType, GridFsBucketOptions, IndexOptions, InsertOneModel, ReadConcern, ReplaceOneModel, ReturnDocument,
    UpdateOneModel, WriteConcern, WriteModel,
};
use mongodb::{Client, Collection, Database, IndexModel, Namespace};

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Says why an area does not apply.
#[derive(Debug)]
struct Skip(&'static str);

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Skip {}

fn uri() -> String {
    std::env::var("CANTLE_URI").expect("CANTLE_URI")
}

/// The areas that are about a single server, one of several where there are several.
const ALONE: [&str; 4] = ["transactions", "retryable", "throttling", "pool"];

/// The connection string for an area.
fn uri_for(area: &str) -> String {
    if ALONE.contains(&area) { std::env::var("CANTLE_ONE_URI").unwrap_or_else(|_| uri()) } else { uri() }
}

fn cosmos() -> bool {
    std::env::var("CANTLE_PERSONALITY").is_ok_and(|p| p == "cosmos")
}

fn with(more: &str) -> String {
    format!("{}{}{more}", uri(), if uri().contains('?') { "&" } else { "?" })
}

struct Area {
    client: Client,
    db: Database,
    coll: Collection<Document>,
}

fn code(error: &Error) -> i32 {
    match error.kind.as_ref() {
        ErrorKind::Command(e) => e.code,
        ErrorKind::Write(WriteFailure::WriteError(e)) => e.code,
        ErrorKind::InsertMany(e) => e.write_errors.as_ref().and_then(|l| l.first()).map_or(0, |e| e.code),
        _ => 0,
    }
}

fn refused<T>(want: i32, result: Result<T, Error>) -> Result<Error, Error> {
    match result {
        Ok(_) => panic!("no error, expected {want}"),
        Err(e) if code(&e) == want => Ok(e),
        Err(e) => Err(e),
    }
}

fn docs(from: i32, to: i32) -> Vec<Document> {
    (from..to).map(|i| doc! {"_id": i, "g": i % 4, "v": i}).collect()
}

async fn connect(_: &Area) -> Outcome {
    for form in [uri(), with("maxPoolSize=3&w=majority&journal=true"), with("retryWrites=false&readPreference=primaryPreferred"), uri().replace("127.0.0.1", "localhost")] {
        let client = Client::with_uri_str(form).await?;
        let hello = client.database("admin").run_command(doc! {"hello": 1}).await?;
        if cosmos() { assert_eq!(hello.get_str("setName")?, "globaldb") } else { assert_eq!(hello.get_str("msg")?, "isdbgrid") }
        client.shutdown().await;
    }
    let nobody = Client::with_uri_str("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200").await?;
    let error = nobody.list_database_names().await.expect_err("nobody is there");
    assert!(matches!(error.kind.as_ref(), ErrorKind::ServerSelection { .. }));
    Ok(())
}

async fn crud(a: &Area) -> Outcome {
    a.coll.insert_one(doc! {"_id": 1, "n": 1, "tags": ["a"]}).await?;
    assert_eq!(a.coll.insert_many([doc! {"_id": 2, "n": 2}, doc! {"_id": 3, "n": 3}]).await?.inserted_ids.len(), 2);
    assert_eq!(a.coll.find_one(doc! {"tags": "a"}).await?.unwrap().get_i32("_id")?, 1);
    assert_eq!(a.coll.update_one(doc! {"_id": 2}, doc! {"$inc": {"n": 10}}).await?.modified_count, 1);
    assert_eq!(a.coll.update_many(doc! {}, doc! {"$push": {"tags": "c"}}).await?.matched_count, 3);
    assert_eq!(a.coll.update_one(doc! {"_id": 9}, doc! {"$set": {"n": 9}}).upsert(true).await?.upserted_id, Some(Bson::Int32(9)));
    let after = a.coll.find_one_and_update(doc! {"_id": 9}, vec![doc! {"$set": {"n": {"$add": ["$n", 1]}}}]).return_document(ReturnDocument::After).await?;
    assert_eq!(after.unwrap().get_i32("n")?, 10);
    a.coll.replace_one(doc! {"_id": 9}, doc! {"n": 5}).await?;
    assert_eq!(a.coll.find_one_and_delete(doc! {"_id": 9}).await?.unwrap().get_i32("n")?, 5);
    assert_eq!(a.coll.distinct("n", doc! {}).await?.len(), 3);
    assert_eq!(a.coll.count_documents(doc! {"n": {"$gte": 3}}).await?, 2);
    assert_eq!(a.coll.estimated_document_count().await?, 3);
    assert_eq!(a.coll.delete_many(doc! {}).await?.deleted_count, 3);
    Ok(())
}

async fn bulk(a: &Area) -> Outcome {
    a.coll.insert_one(doc! {"_id": 1}).await?;
    let error = refused(11000, a.coll.insert_many([doc! {"_id": 1}, doc! {"_id": 20}, doc! {"_id": 1}]).ordered(false).await)?;
    let ErrorKind::InsertMany(e) = error.kind.as_ref() else { panic!("{error}") };
    assert_eq!(e.write_errors.as_ref().unwrap().iter().map(|e| e.index).collect::<Vec<_>>(), [0, 2]);
    let size = if cosmos() { 1000 } else { 10_000 };
    a.coll.insert_many(docs(1000, 1000 + size)).await?;
    assert_eq!(a.coll.count_documents(doc! {}).await?, size as u64 + 2);
    Ok(())
}

async fn bulkwrite(a: &Area) -> Outcome {
    if cosmos() {
        return Err(Box::new(Skip("the service says 7.0, which has no bulkWrite")));
    }
    let (one, other) = (a.coll.namespace(), a.db.collection::<Document>("other").namespace());
    let insert = |namespace: &Namespace, id: i32| WriteModel::InsertOne(InsertOneModel::builder().namespace(namespace.clone()).document(doc! {"_id": id}).build());
    let last = UpdateOneModel::builder().namespace(one.clone()).filter(doc! {}).update(doc! {"$set": {"last": true}}).sort(doc! {"_id": -1}).build();
    let third = ReplaceOneModel::builder().namespace(other.clone()).filter(doc! {"_id": 3}).replacement(doc! {"n": 3}).upsert(true).build();
    let first = DeleteOneModel::builder().namespace(one.clone()).filter(doc! {"_id": 1}).build();
    let writes = [insert(&one, 1), insert(&one, 2), insert(&other, 1), last.into(), third.into(), first.into()];
    let r = a.client.bulk_write(writes).verbose_results().await?;
    assert_eq!((r.summary.inserted_count, r.summary.modified_count, r.summary.upserted_count, r.summary.deleted_count), (3, 1, 1, 1));
    assert_eq!(r.update_results[&4].upserted_id, Some(Bson::Int32(3)));
    assert_eq!(a.coll.find(doc! {}).await?.try_collect::<Vec<_>>().await?, [doc! {"_id": 2, "last": true}]);
    let error = a.client.bulk_write([insert(&other, 1), insert(&one, 3), insert(&one, 2)]).ordered(false).await.expect_err("duplicates were inserted");
    let ErrorKind::BulkWrite(e) = error.kind.as_ref() else { panic!("{error}") };
    assert_eq!((e.write_errors.len(), e.write_errors[&2].code), (2, 11000));
    Ok(())
}

async fn cursors(a: &Area) -> Outcome {
    a.coll.insert_many(docs(0, 250)).await?;
    let got: Vec<Document> = a.coll.find(doc! {}).sort(doc! {"_id": -1}).batch_size(20).skip(10).limit(200).await?.try_collect().await?;
    assert_eq!((got.len(), got[0].get_i32("_id")?, got[199].get_i32("_id")?), (200, 239, 40));
    let mut cursor = a.coll.find(doc! {}).batch_size(10).await?;
    assert!(cursor.advance().await?);
    drop(cursor);
    refused(43, a.db.run_command(doc! {"getMore": 12345_i64, "collection": "cursors"}).await)?;
    assert_eq!(a.db.list_collection_names().await?, ["cursors"]);
    Ok(())
}

async fn indexes(a: &Area) -> Outcome {
    let expiring = IndexModel::builder().keys(doc! {"at": 1}).options(IndexOptions::builder().expire_after(Duration::from_secs(3600)).build()).build();
    a.coll.create_indexes([IndexModel::builder().keys(doc! {"a": 1, "b": -1}).build(), expiring]).await?;
    let mut names = a.coll.list_index_names().await?;
    names.sort();
    assert_eq!(names, ["_id_", "a_1_b_-1", "at_1"]);
    let plan = a.db.run_command(doc! {"explain": {"find": "indexes", "filter": {"a": 1}}}).await?;
    assert!(plan.to_string().contains("IXSCAN"));
    a.coll.drop_index("at_1").await?;
    refused(27, a.coll.drop_index("at_1").await)?;
    a.coll.drop_indexes().await?;
    Ok(())
}

async fn aggregation(a: &Area) -> Outcome {
    a.coll.insert_many(docs(0, 100)).await?;
    let pipeline = [doc! {"$match": {"v": {"$lt": 80}}}, doc! {"$group": {"_id": "$g", "n": {"$sum": 1}}}, doc! {"$sort": {"_id": 1}}];
    let groups: Vec<Document> = a.coll.aggregate(pipeline).allow_disk_use(true).batch_size(2).await?.try_collect().await?;
    assert_eq!(groups[3], doc! {"_id": 3, "n": 20});
    a.coll.aggregate([doc! {"$match": {"g": 0}}, doc! {"$merge": {"into": "merged"}}]).await?;
    assert_eq!(a.db.collection::<Document>("merged").count_documents(doc! {}).await?, 25);
    Ok(())
}

async fn gridfs(a: &Area) -> Outcome {
    // Cosmos DB sorts only by what is indexed.
    a.db.collection::<Document>("fs.chunks").create_index(IndexModel::builder().keys(doc! {"n": 1}).build()).await?;
    let bucket = a.db.gridfs_bucket(GridFsBucketOptions::builder().chunk_size_bytes(64 << 10).build());
    let data: Vec<u8> = (0..1_000_000_u32).map(|i| (i * 7) as u8).collect();
    let mut up = bucket.open_upload_stream("a.bin").await?;
    up.write_all(&data).await?;
    up.close().await?;
    let mut back = Vec::new();
    bucket.open_download_stream(up.id().clone()).await?.read_to_end(&mut back).await?;
    assert!(back == data);
    bucket.rename(up.id().clone(), "b.bin").await?;
    bucket.delete(up.id().clone()).await?;
    assert_eq!(a.db.collection::<Document>("fs.chunks").count_documents(doc! {}).await?, 0);
    Ok(())
}

async fn sessions(a: &Area) -> Outcome {
    let mut session = a.client.start_session().causal_consistency(true).await?;
    a.coll.insert_one(doc! {"_id": 1}).session(&mut session).await?;
    assert!(session.cluster_time().is_some());
    assert_eq!(a.coll.count_documents(doc! {}).read_concern(ReadConcern::majority()).session(&mut session).await?, 1);
    if !cosmos() {
        let mut session = a.client.start_session().snapshot(true).await?;
        for i in 2..4 {
            assert_eq!(a.coll.count_documents(doc! {}).session(&mut session).await?, 1);
            a.coll.insert_one(doc! {"_id": i}).await?;
        }
    }
    Ok(())
}

async fn transactions(a: &Area) -> Outcome {
    a.coll.insert_many([doc! {"_id": "a", "n": 100}, doc! {"_id": "b", "n": 0}]).await?;
    let one = || async {
        let mut session = a.client.start_session().await?;
        session.start_transaction().read_concern(ReadConcern::snapshot()).write_concern(WriteConcern::majority())
            .and_run(&a.coll, |session, coll| async move {
                coll.update_one(doc! {"_id": "a"}, doc! {"$inc": {"n": -1}}).session(&mut *session).await?;
                coll.update_one(doc! {"_id": "b"}, doc! {"$inc": {"n": 1}}).session(&mut *session).await
            }.boxed()).await
    };
    futures::future::try_join_all((0..8).map(|_| one())).await?;
    assert_eq!(a.coll.count_documents(doc! {"n": 8}).await?, 1);
    let (mut first, mut second) = (a.client.start_session().await?, a.client.start_session().await?);
    first.start_transaction().await?;
    second.start_transaction().await?;
    a.coll.update_one(doc! {"_id": "a"}, doc! {"$inc": {"n": 1}}).session(&mut first).await?;
    let error = refused(112, a.coll.update_one(doc! {"_id": "a"}, doc! {"$inc": {"n": 1}}).session(&mut second).await)?;
    assert!(error.contains_label("TransientTransactionError"));
    first.abort_transaction().await?;
    assert_eq!(a.coll.count_documents(doc! {"n": 92}).await?, 1);
    Ok(())
}

async fn retryable(a: &Area) -> Outcome {
    let admin = a.client.database("admin");
    let fail = |mut data: Document, command: &str| {
        data.extend(doc! {"failCommands": [command], "appName": "rust_retryable"});
        let admin = admin.clone();
        async move { admin.run_command(doc! {"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": data}).await }
    };
    fail(doc! {"closeConnection": true}, "insert").await?;
    a.coll.insert_one(doc! {"_id": 1}).await?;
    fail(doc! {"errorCode": 91, "errorLabels": ["RetryableWriteError"]}, "update").await?;
    assert_eq!(a.coll.update_one(doc! {"_id": 1}, doc! {"$inc": {"n": 1}}).await?.modified_count, 1);
    fail(doc! {"errorCode": 11602}, "find").await?;
    assert_eq!(a.coll.find_one(doc! {}).await?, Some(doc! {"_id": 1, "n": 1}));
    fail(doc! {"errorCode": 11601}, "insert").await?;
    refused(11601, a.coll.insert_one(doc! {"_id": 2}).await)?;
    admin.run_command(doc! {"configureFailPoint": "failCommand", "mode": "off"}).await?;
    Ok(())
}

async fn changestreams(a: &Area) -> Outcome {
    a.db.create_collection("changestreams").await?;
    let pipeline = [doc! {"$match": {"operationType": {"$in": ["insert", "update", "replace"]}}},
        doc! {"$project": {"_id": 1, "operationType": 1, "fullDocument": 1, "ns": 1, "documentKey": 1}}];
    let pipeline = if cosmos() { vec![pipeline[0].clone(), doc! {"$project": {"_id": 1, "fullDocument": 1, "ns": 1, "documentKey": 1}}] } else { pipeline.to_vec() };
    let mut stream = a.coll.watch().pipeline(pipeline.clone()).full_document(FullDocumentType::UpdateLookup).await?.with_type::<Document>();
    a.coll.insert_one(doc! {"_id": 1}).await?;
    assert_eq!(stream.next().await.unwrap()?.get_document("documentKey")?, &doc! {"_id": 1});
    let token = stream.resume_token();
    drop(stream);
    a.coll.insert_one(doc! {"_id": 2}).await?;
    let mut stream = a.coll.watch().pipeline(pipeline).full_document(FullDocumentType::UpdateLookup).resume_after(token).await?.with_type::<Document>();
    assert_eq!(stream.next().await.unwrap()?.get_document("documentKey")?, &doc! {"_id": 2});
    Ok(())
}

async fn throttling(a: &Area) -> Outcome {
    a.db.run_command(doc! {"customAction": "CreateCollection", "collection": "throttling", "shardKey": "k", "offerThroughput": 400}).await?;
    let mut left: HashMap<usize, Document> = (0..1000).map(|i| (i, doc! {"_id": i as i32, "k": i as i32, "pad": "x".repeat(900)})).collect();
    let mut refusals = 0;
    while refusals == 0 || left.len() > 900 {
        let batch: Vec<(usize, Document)> = left.drain().collect();
        let error = refused(16500, a.coll.insert_many(batch.iter().map(|(_, d)| d)).ordered(false).await)?;
        let ErrorKind::InsertMany(e) = error.kind.as_ref() else { panic!("{error}") };
        let mut wait = 0;
        for e in e.write_errors.as_ref().unwrap() {
            assert_eq!(e.code, 16500);
            refusals += 1;
            left.insert(batch[e.index].0, batch[e.index].1.clone());
            wait = e.message.split("RetryAfterMs=").nth(1).and_then(|t| t.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).expect("RetryAfterMs");
        }
        tokio::time::sleep(Duration::from_millis(wait + 50)).await;
    }
    tokio::time::sleep(Duration::from_millis(1200)).await;
    a.db.run_command(doc! {"customAction": "InjectThrottle", "kind": "read", "nth": 1, "count": 1, "retryAfterMs": 50, "collection": "throttling"}).await?;
    let key = doc! {"_id": 0, "k": 0};
    if let Err(e) = a.coll.find_one(key.clone()).await {
        // Cosmos DB, or a driver older than retries by labels.
        assert_eq!(code(&e), 16500);
        assert_eq!(e.contains_label("SystemOverloadedError"), !cosmos());
        a.coll.find_one(key).await?;
    }
    a.db.run_command(doc! {"customAction": "InjectThrottle", "off": true}).await?;
    Ok(())
}

async fn errors(a: &Area) -> Outcome {
    a.coll.insert_one(doc! {"_id": 1}).await?;
    refused(11000, a.coll.insert_one(doc! {"_id": 1}).await)?;
    refused(59, a.db.run_command(doc! {"noSuchCommand": 1}).await)?;
    refused(2, a.coll.find_one(doc! {"a": {"$nope": 1}}).await)?;
    refused(40324, a.coll.aggregate([doc! {"$nope": 1}]).await)?;
    refused(48, a.db.run_command(doc! {"create": "errors", "capped": true, "size": 4096}).await)?;
    refused(50, a.coll.find(doc! {"$where": "sleep(300) || true"}).max_time(Duration::from_millis(50)).await)?;
    Ok(())
}

async fn compression(a: &Area) -> Outcome {
    let text = "cantle ".repeat(50_000);
    for kind in ["snappy", "zlib", "zstd"] {
        let client = Client::with_uri_str(with(&format!("compressors={kind}"))).await?;
        let coll = client.database(a.db.name()).collection::<Document>("compression");
        coll.replace_one(doc! {"_id": 1}, doc! {"text": &text}).upsert(true).await?;
        assert_eq!(coll.find_one(doc! {}).await?.unwrap().get_str("text")?, text);
    }
    Ok(())
}

async fn pool(a: &Area) -> Outcome {
    a.coll.insert_many(docs(0, 50)).await?;
    let made = Arc::new(AtomicU32::new(0));
    let mut options = ClientOptions::parse(uri_for("pool")).await?;
    options.max_pool_size = Some(5);
    let counter = made.clone();
    options.cmap_event_handler = Some(EventHandler::callback(move |e| {
        if let mongodb::event::cmap::CmapEvent::ConnectionCreated(_) = e {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let busy = Client::with_options(options)?.database(a.db.name()).collection::<Document>("pool");
    let found = futures::future::try_join_all((0..400).map(|i| { let busy = busy.clone(); async move { busy.find_one(doc! {"_id": i % 50}).await } })).await?;
    assert!(found.iter().all(Option::is_some));
    assert!(made.load(Ordering::Relaxed) <= 5);
    for _ in 0..30 {
        let client = Client::with_uri_str(uri_for("pool")).await?;
        client.database("admin").run_command(doc! {"ping": 1}).await?;
        client.shutdown().await;
    }
    Ok(())
}

async fn hosts(a: &Area) -> Outcome {
    let mut options = ClientOptions::parse(uri()).await?;
    let all: Vec<String> = options.hosts.iter().map(ToString::to_string).collect();
    if all.len() == 1 {
        return Err(Skip("there is one server").into());
    }
    let single = Client::with_uri_str(format!("mongodb://{}/", all[0])).await?.database("admin");
    let fail = doc! {"configureFailPoint": "failCommand", "mode": "alwaysOn",
        "data": {"appName": "rust_hosts_watched", "failCommands": ["insert", "find"], "closeConnection": true}};
    single.run_command(fail).await?;
    let (answered, failures) = (Arc::new(Mutex::new(BTreeSet::new())), Arc::new(AtomicU32::new(0)));
    let (answering, failing, first) = (answered.clone(), failures.clone(), all[0].clone());
    options.app_name = Some("rust_hosts_watched".into());
    options.command_event_handler = Some(EventHandler::callback(move |e| match e {
        CommandEvent::Succeeded(e) if e.command_name == "insert" => {
            answering.lock().unwrap().insert(e.connection.address.to_string());
        }
        CommandEvent::Failed(e) if e.connection.address.to_string() == first => {
            failing.fetch_add(1, Ordering::Relaxed);
        }
        _ => {}
    }));
    let coll = Client::with_options(options)?.database(a.db.name()).collection::<Document>("hosts");
    for i in 0..40 {
        coll.insert_one(doc! {"_id": i}).await?;
        assert_eq!(coll.find_one(doc! {"_id": i}).await?, Some(doc! {"_id": i}));
    }
    single.run_command(doc! {"configureFailPoint": "failCommand", "mode": "off"}).await?;
    assert!(failures.load(Ordering::Relaxed) > 0);
    assert_eq!(*answered.lock().unwrap(), all[1..].iter().cloned().collect());
    assert_eq!(coll.count_documents(doc! {}).await?, 40);

    let last = &all[all.len() - 1];
    Client::with_uri_str(format!("mongodb://{last}/")).await?.database("admin").run_command(doc! {"shutdown": 1}).await?;
    let mut n = 40;
    let (end, mut left) = (Instant::now() + Duration::from_millis(1500), 30);
    while left > 0 {
        coll.insert_one(doc! {"_id": n}).await?;
        coll.update_many(doc! {"_id": n}, doc! {"$set": {"seen": true}}).await?; // which no driver retries
        assert_eq!(coll.find_one(doc! {"_id": n}).await?, Some(doc! {"_id": n, "seen": true}));
        n += 1;
        if Instant::now() < end {
            answered.lock().unwrap().clear();
        } else {
            left -= 1;
        }
    }
    assert!(!answered.lock().unwrap().contains(last));
    assert_eq!(coll.count_documents(doc! {}).await?, n as u64);
    Ok(())
}

async fn prepared(name: &str) -> Result<Area, Error> {
    let mut options = ClientOptions::parse(uri_for(name)).await?;
    options.app_name = Some(format!("rust_{name}"));
    let client = Client::with_options(options)?;
    let db = client.database("clients_rust");
    db.drop().await?;
    Ok(Area { coll: db.collection(name), db, client })
}

macro_rules! areas {
    ($($name:ident),*) => {
        #[tokio::main]
        async fn main() {
            let mut failed = false;
            $(for name in [stringify!($name)] {
                let checks = tokio::spawn(tokio::time::timeout(Duration::from_secs(60), async move {
                    let area = prepared(name).await?;
                    $name(&area).await?;
                    area.db.drop().await?;
                    Outcome::Ok(())
                }));
                let said = match checks.await {
                    Ok(Ok(Err(e))) if e.is::<Skip>() => { println!("rust {name} skip {e}"); continue }
                    Ok(Ok(Ok(()))) => None,
                    Ok(Ok(Err(e))) => Some(format!("{e:?}")),
                    Ok(Err(e)) => Some(e.to_string()),
                    Err(e) => Some(match e.into_panic().downcast::<String>() { Ok(text) => *text, Err(_) => "a check failed; see above".into() }),
                };
                match said {
                    None => println!("rust {name} ok"),
                    Some(why) => { failed = true; println!("rust {name} FAIL {}", why.replace('\n', " | ")) }
                }
            })*
            std::process::exit(failed.into());
        }
    };
}

areas!(connect, crud, bulk, bulkwrite, cursors, indexes, aggregation, gridfs, sessions, transactions, retryable, changestreams, throttling, errors, compression, pool, hosts);
