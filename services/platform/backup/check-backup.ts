import { rowsOf } from '../event-store/embedded/stored-row.ts'
import { hashOf, type Manifest } from './manifest.ts'
import type { BackupPlace } from './place.ts'
import { readManifest } from './restore-backup.ts'
import { damaged, unpackSegment } from './segment.ts'

/**
 * Reads a whole backup: every file is there, and is what was written.
 *
 * @throws ServiceError `backup_damaged`, `backup_unreachable`
 */
export async function checkBackup(options: {
  readonly place: BackupPlace
  readonly signal: AbortSignal
  readonly onProgress: (progress: { readonly position: number; readonly head: number }) => void
}): Promise<{ readonly manifest: Manifest; readonly hash: string }> {
  const { place, signal, onProgress } = options
  const manifest = await readManifest(place)
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
  return { manifest, hash: hashOf(manifest) }
}
