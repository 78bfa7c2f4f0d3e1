CREATE TABLE "responses" (
   "id" TEXT PRIMARY KEY,
   "model" TEXT,
   "prompt" TEXT,
   "system" TEXT,
   "prompt_json" TEXT,
   "options_json" TEXT,
   "response" TEXT,
   "response_json" TEXT,
   "conversation_id" TEXT REFERENCES "conversations"("id"),
   "duration_ms" INTEGER,
   "datetime_utc" TEXT,
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id")
, "resolved_model" TEXT, "reasoning" TEXT);
CREATE TABLE "threads" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "forked_from" TEXT REFERENCES "threads"("id"),
   "datetime_utc" TEXT
);
INSERT INTO threads VALUES('01m855x1crpqanp1j50yswgn86','My violin teacher is called Ms …','b2:99f7390fd61be1b67e91454cf187a22f',NULL,'2026-11-23 21:44:56.709620+00:00');
INSERT INTO threads VALUES('01m855xcham3kz8k1en33vphjr','Translate: guten Tag','b2:c3380e2a6c3f401ce5296bcedce39e0f',NULL,'2026-11-23 21:45:08.006326+00:00');
CREATE TABLE "turns" (
   "id" TEXT PRIMARY KEY,
   "thread_id" TEXT REFERENCES "threads"("id"),
   "parent_message_hash" TEXT REFERENCES "messages"("hash"),
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "model" TEXT,
   "resolved_model" TEXT,
   "options_json" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id"),
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "duration_ms" INTEGER,
   "datetime_utc" TEXT
, "response_json" TEXT);
INSERT INTO turns VALUES('01m855x1css6vs0h9aeeckjnxz','01m855x1crpqanp1j50yswgn86','b2:f608a87e2531415ef8986589931de2f3','b2:7198af04c75a02c59df15ad5092684a4','local',NULL,NULL,NULL,NULL,NULL,NULL,235,'2026-11-23T21:44:56.473756+00:00',NULL);
INSERT INTO turns VALUES('01m855x7bb4dtfsyp4smgwqfzm','01m855x1crpqanp1j50yswgn86','b2:988a50b0c9b2e6a045aca843d6343252','b2:99f7390fd61be1b67e91454cf187a22f','local',NULL,NULL,NULL,NULL,NULL,NULL,755,'2026-11-23T21:45:02.574854+00:00',NULL);
INSERT INTO turns VALUES('01m855xchgmw4072ck867wfbp8','01m855xcham3kz8k1en33vphjr','b2:21200943c94a857b8bf47ec8796339e4','b2:c3380e2a6c3f401ce5296bcedce39e0f','local',NULL,NULL,NULL,1,1,NULL,117,'2026-11-23T21:45:07.888127+00:00',NULL);
CREATE TABLE "turn_search" (
   "id" INTEGER PRIMARY KEY,
   "turn_id" TEXT REFERENCES "turns"("id"),
   "prompt" TEXT,
   "response" TEXT
);
INSERT INTO turn_search VALUES(1,'01m855x1css6vs0h9aeeckjnxz','My violin teacher is called Ms Okafor','Noted: My violin teacher is called Ms Okafor');
INSERT INTO turn_search VALUES(2,'01m855x7bb4dtfsyp4smgwqfzm','And I rehearse on Tuesdays at 18:00','Noted: And I rehearse on Tuesdays at 18:00');
INSERT INTO turn_search VALUES(3,'01m855xchgmw4072ck867wfbp8','Translate: guten Tag','Noted: Translate: guten Tag');
