import { writeOut } from '../../../../testing/servers/write-out.ts'
import { openFolderPlace } from '../../backup/folder-place.ts'
import { takeSnapshot } from '../take-snapshot.ts'

/** A process that takes one snapshot after the other, until a test kills it. */
const [file = '', logId = '', folder = '', tables = ''] = process.argv.slice(2)
const place = openFolderPlace(folder)
const keys = { known: [Buffer.alloc(32, 1)], used: 0 }
for (;;) {
  const options = { file, logId, place, keys, tables: tables.split(','), everyMs: 0, partBytes: 20_000 }
  writeOut(`${await takeSnapshot({ ...options, now: Date.now })}\n`)
}
