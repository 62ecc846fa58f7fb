import { ServiceError } from '../../../contracts/errors.ts'
import type { ProcessFacts } from '../../http/readiness.ts'
import { ROLES } from '../../runtime/config/settings.ts'

/** A process of a cluster, and what it said when it was asked. */
export interface AskedProcess {
  readonly url: string
  readonly facts: ProcessFacts
  /** This machine's clock before and after the answer, Unix milliseconds. */
  readonly askedAt: number
  readonly answeredAt: number
}

type Found = string | { readonly isDegraded: boolean; readonly detail: string }

/** Processes cache their answer for so long, so that their clocks may seem late by it. */
const KEPT_MS = 1_000
/** Leases, windows of quota and ages of bars go by the clock; differences of this size are felt in none of them. */
const CLOCKS_MS = 2_000

/**
 * Checks between processes, each named by its part. Faults of a single process are reported elsewhere.
 *
 * @throws ServiceError when a check is run and finds a fault
 * @example clusterChecks([{ url: 'http://10.0.0.7:9402', facts, askedAt, answeredAt }])
 */
export function clusterChecks(
  processes: readonly AskedProcess[],
): readonly { readonly part: string; readonly describe: () => Found }[] {
  return [
    { part: 'one log', describe: () => describeLog(processes) },
    { part: 'roles', describe: () => describeRoles(processes) },
    { part: 'versions', describe: () => describeVersions(processes) },
    { part: 'clocks', describe: () => describeClocks(processes) },
  ]
}

function describeLog(processes: readonly AskedProcess[]): Found {
  const logs = groups(processes, ({ facts }) => facts.log.id)
  if (logs.size === 1) return `all share ${[...logs.keys()].join()}`
  throw new ServiceError('store_mismatch', {
    message: `they write to ${logs.size} logs: ${told(logs)}`,
    nextStep: 'Give each process of a cluster the same EVENTSTORE_URL, and look at one cluster at a time.',
  })
}

function describeRoles(processes: readonly AskedProcess[]): Found {
  const counts = ROLES.map((role) => ({
    role,
    count: processes.filter(({ facts }) => facts.roles.includes(role)).length,
  }))
  const missing = counts.filter(({ count }) => count === 0).map(({ role }) => role)
  if (missing.length > 0) {
    throw new ServiceError('config_invalid', {
      message: `nobody has the role ${missing.join(', ')}`,
      nextStep: 'Start a process with it (ROLES), or name all processes in --processes.',
    })
  }
  return counts.map(({ role, count }) => `${role} ${count}`).join(', ')
}

function describeVersions(processes: readonly AskedProcess[]): Found {
  const versions = groups(processes, ({ facts }) => facts.version)
  if (versions.size === 1) return [...versions.keys()].join()
  return { isDegraded: true, detail: `an upgrade is under way: ${told(versions)}` }
}

function describeClocks(processes: readonly AskedProcess[]): Found {
  const offs = processes.map(({ url, facts, askedAt, answeredAt }) => {
    const at = Date.parse(facts.at)
    const late = Math.min(0, at - (askedAt - KEPT_MS))
    return { url, ms: late === 0 ? Math.max(0, at - answeredAt) : late }
  })
  const wrong = offs.filter(({ ms }) => Math.abs(ms) > CLOCKS_MS)
  if (wrong.length === 0) return `within ${CLOCKS_MS / 1_000} s of this machine's`
  const shown = wrong.map(
    ({ url, ms }) => `${url} is ${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms > 0 ? 'ahead' : 'late'}`,
  )
  return { isDegraded: true, detail: `${shown.join('; ')}: let one service of time set all of them` }
}

function groups(
  processes: readonly AskedProcess[],
  of: (process: AskedProcess) => string,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const process of processes) found.set(of(process), [...(found.get(of(process)) ?? []), process.url])
  return found
}

const told = (found: ReadonlyMap<string, readonly string[]>): string =>
  [...found].map(([what, urls]) => `${what} (${urls.join(', ')})`).join(', ')
