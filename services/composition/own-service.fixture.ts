import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '../runtime/config/read-settings.ts'
import { startService } from './start-service.ts'

export interface OwnService {
  readonly folder: string
  readonly url: string
  /** With its folder. */
  stop(): Promise<void>
}

/** Starts a service in this process, quiet and on a free port, in a folder that goes with it. */
export async function startOwnService(
  environment: Readonly<Record<string, string>>,
  folder = mkdtempSync(join(tmpdir(), 'service-')),
): Promise<OwnService> {
  const flags = ['--port', '0', '--data-dir', folder, '--console', 'off']
  const settings = readSettings(flags, { FRESH: 'true', LOG_LEVEL: 'error', ...environment })
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const service = await startService(settings, process.stdout).catch((error: unknown) => {
    remove()
    throw error
  })
  return {
    folder,
    url: service.url ?? '',
    async stop() {
      await service.stop()
      remove()
    },
  }
}
