BEGIN TRANSACTION;
CREATE TABLE history (
                        id           TEXT PRIMARY KEY,
                        memory_id    TEXT,
                        old_memory   TEXT,
                        new_memory   TEXT,
                        event        TEXT,
                        created_at   DATETIME,
                        updated_at   DATETIME,
                        is_deleted   INTEGER,
                        actor_id     TEXT,
                        role         TEXT
                    );
INSERT INTO "history" VALUES('283ddbb8-95a6-42c3-8b9b-26f0c33661e9','a0d38e01-a19f-4e20-bf98-14fb7b9f60d6',NULL,'User''s sister is called Ana','ADD','2026-11-23T01:42:38.377410+00:00',NULL,0,NULL,NULL);
INSERT INTO "history" VALUES('c9321daf-9703-46b3-b405-1c6ca6072d27','5c82adda-d34c-4a8c-9d54-b423c759fcab',NULL,'User is allergic to peanuts','ADD','2026-11-23T01:42:38.377458+00:00',NULL,0,NULL,NULL);
INSERT INTO "history" VALUES('1510223d-1892-45e5-a1ff-8aca6c52c19c','c083f764-edbb-4080-a7c6-c3509a6eaa81',NULL,'User works at a library in Porto','ADD','2026-11-23T01:42:38.419171+00:00',NULL,0,NULL,NULL);
INSERT INTO "history" VALUES('4e7cb4cd-bc00-4992-ab76-982e80ce7e08','e0d56445-6c6b-430f-bc13-df7881b82135',NULL,'User has a grey cat','ADD','2026-11-23T01:42:38.513786+00:00',NULL,0,NULL,NULL);
INSERT INTO "history" VALUES('52ceef91-2935-4ac3-9325-228a089d63f7','c083f764-edbb-4080-a7c6-c3509a6eaa81','User works at a library in Porto','User works at a library in Lisbon','UPDATE','2026-11-23T01:42:38.419171+00:00','2026-11-23T01:42:38.578798+00:00',0,NULL,NULL);
INSERT INTO "history" VALUES('c438c9f4-8dcb-4b83-962d-409c33b5faab','e0d56445-6c6b-430f-bc13-df7881b82135','User has a grey cat',NULL,'DELETE','2026-11-23T01:42:38.513786+00:00','2026-11-23T01:42:38.605686+00:00',1,NULL,NULL);
CREATE TABLE messages (
                        id TEXT PRIMARY KEY,
                        session_scope TEXT,
                        role TEXT,
                        content TEXT,
                        name TEXT,
                        created_at DATETIME
                    );
INSERT INTO "messages" VALUES('91b77e96-d70e-43ec-9a6a-765f48c21864','run_id=r1&user_id=u1','user','My sister is called Ana and I am allergic to peanuts.',NULL,'2026-11-23T01:42:38.387485+00:00');
INSERT INTO "messages" VALUES('a85f2246-423f-4ec5-b96a-29255801579e','run_id=r1&user_id=u1','assistant','Noted.',NULL,'2026-11-23T01:42:38.387485+00:00');
INSERT INTO "messages" VALUES('ce909c4e-fba8-4ef0-a727-903104aed25c','agent_id=helper&user_id=u1','user','I work at a library in Porto',NULL,'2026-11-23T01:42:38.442810+00:00');
INSERT INTO "messages" VALUES('1f1b07e8-d573-4520-8a3e-738a99dd2f51','user_id=u1','user','I have a grey cat',NULL,'2026-11-23T01:42:38.556113+00:00');
COMMIT;
