import { pino } from 'pino'
import type { Settings } from '../runtime/config/settings.ts'
import { createShutdown, type Start } from './shutdown.ts'

/** A process before any of its parts is open, that logs nothing. */
export function startOf(settings: Settings): Start {
  const log = pino({ level: 'silent' })
  return { settings, log, shutdown: createShutdown(log) }
}
