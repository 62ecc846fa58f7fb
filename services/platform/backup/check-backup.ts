import { rowsOf } from '../event-store/embedded/stored-row.ts'
import { hashOf, type ReadManifest } from './manifest.ts'
import type { BackupPlace } from './place.ts'
import { readManifest } from './restore-backup.ts'
import { damaged, unpackSegment } from './segment.ts'
import type { BackupKeys } from './signature.ts'

/**
 * Reads a whole backup: every file is there, and is what was written, and by whom.
 *
 * @throws ServiceError `backup_damaged`, `backup_unreachable`, `store_mismatch` where it was signed with another key
 */
export async function checkBackup(options: {
  readonly place: BackupPlace
  /** Undefined where they are not at hand. */
  readonly keys: BackupKeys | undefined
  readonly signal: AbortSignal
  readonly onProgress: (progress: { readonly position: number; readonly head: number }) => void
}): Promise<ReadManifest & { readonly hash: string }> {
  const { place, signal, onProgress } = options
  const { manifest, authenticity } = await readManifest(place, options.keys)
  const { head, segments, keys } = manifest
  for (const entry of keys === null ? segments : [...segments, keys]) {
    signal.throwIfAborted()
    const body = await place.get(entry.name)
    if (body === undefined) throw damaged(entry, 'it is missing')
    const rows = rowsOf(unpackSegment(body, entry))
    if (rows.length !== entry.events)
      throw damaged(entry, `it holds ${rows.length} events, not ${entry.events}`)
    if ('last' in entry) onProgress({ position: entry.last, head })
  }
  return { manifest, authenticity, hash: hashOf(manifest) }
}
