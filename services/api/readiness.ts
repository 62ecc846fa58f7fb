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

export interface Readiness {
  readonly status: 'ready' | 'degraded' | 'unready'
  readonly components: readonly Component[]
}

/** Ready when every part is well; unready when a required one has failed; degraded in between. */
export function readinessOf(components: readonly Component[]): Readiness {
  const hasFailed = components.some((part) => part.isRequired && part.state === 'failed')
  const isWell = components.every((part) => part.state === 'ok')
  return { status: hasFailed ? 'unready' : isWell ? 'ready' : 'degraded', components }
}
