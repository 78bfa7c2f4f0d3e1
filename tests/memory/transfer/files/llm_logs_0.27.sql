CREATE TABLE "conversations" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "model" TEXT
);
INSERT INTO conversations VALUES('01m8589gqdgxa7222kfpc917nc','My violin teacher is called Ms …','local');
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
, "resolved_model" TEXT);
INSERT INTO responses VALUES('01m8589fmaazk5vtagvhpfptzx','local','My violin teacher is called Ms Okafor','You are kind',NULL,'{}','Noted: My violin teacher is called Ms Okafor',NULL,'01m8589gqdgxa7222kfpc917nc',1119,'2026-11-23T22:26:41.418261+00:00',1,1,NULL,NULL,NULL);
INSERT INTO responses VALUES('01m8589qfx5a2x4kqep7qzqzkz','local','And I rehearse on Tuesdays at 18:00',NULL,NULL,'{}','Noted: And I rehearse on Tuesdays at 18:00',NULL,'01m8589gqdgxa7222kfpc917nc',1675,'2026-11-23T22:26:49.469431+00:00',1,1,NULL,NULL,NULL);
