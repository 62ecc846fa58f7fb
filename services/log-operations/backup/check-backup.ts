import { hashOf, type ReadManifest } from './manifest.ts'
import type { BackupPlace } from './place.ts'
import { readManifest, readSegment } from './restore-backup.ts'
import type { BackupKeys } from './signature.ts'

/**
 * Reads a whole backup: every file is there, and is what was written, and by whom. @throws ServiceError
 * `backup_damaged`, `backup_unreachable`, `store_mismatch` where it was signed with another key
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
    await readSegment(place, entry)
    if ('last' in entry) onProgress({ position: entry.last, head })
  }
  return { manifest, authenticity, hash: hashOf(manifest) }
}
