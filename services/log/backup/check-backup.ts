import type { Manifest } from './manifest.ts'
import { readManifest, readSegment } from './restore-backup.ts'
import type { BackupStorage } from './storage.ts'

/**
 * Reads a whole backup: every file is there, and is what was written. @throws ServiceError `backup_damaged`,
 * `backup_unreachable`, `store_mismatch` where it was signed with another key
 */
export async function checkBackup(options: {
  readonly storage: BackupStorage
  readonly key: Uint8Array
  readonly signal: AbortSignal
  readonly onProgress: (progress: { readonly position: number; readonly head: number }) => void
}): Promise<Manifest> {
  const { storage, key, signal, onProgress } = options
  const manifest = await readManifest(storage, key)
  const { head, segments, keys } = manifest
  for (const entry of keys === null ? segments : [...segments, keys]) {
    signal.throwIfAborted()
    await readSegment(storage, entry)
    if ('last' in entry) onProgress({ position: entry.last, head })
  }
  return manifest
}
