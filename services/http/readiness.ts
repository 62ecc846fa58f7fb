import type { JsonObject } from '../../contracts/json.ts'

/** One part that the service stands on. */
export interface Component {
  readonly name: string
  readonly state: 'ok' | 'degraded' | 'failed'
  readonly detail: string
  /** Whether the service can answer at all without it. */
  readonly isRequired: boolean
  readonly more?: JsonObject
}

/** Which process it is, for its operator: by this several of one cluster are held against one another. */
export interface ProcessFacts {
  readonly version: string
  readonly roles: readonly string[]
  /** The format of the log that it writes to; `newest` is the format that this release writes once the log is raised. */
  readonly log: { readonly id: string }
  /** Versions of what it runs on, as each says itself. */
  readonly runs_on: Readonly<Record<string, string>>
  /** The time of its clock, ISO 8601. */
  readonly at: string
}

export interface Readiness {
  readonly status: 'ready' | 'degraded' | 'unready'
  readonly components: readonly Component[]
  readonly process?: ProcessFacts
}

/** Ready when every part is well; unready when a required one has failed; degraded in between. */
export function readinessOf(components: readonly Component[]): Readiness {
  const hasFailed = components.some((part) => part.isRequired && part.state === 'failed')
  const isWell = components.every((part) => part.state === 'ok')
  return { status: hasFailed ? 'unready' : isWell ? 'ready' : 'degraded', components }
}
