import { type Component, optionalComponent } from '../../http/routes/health.ts'
import type { DispatcherHealth } from '../../webhooks/index.ts'

/** How long the dispatcher may take to reach the end of the log. */
const PASS_BEHIND_MS = 60_000
/** How long a subscription may be without a worker, while its logs are read. */
const UNATTENDED_MS = 60_000
/** Endpoints that may be late because they are slow themselves: this many, or one in this many. */
const FEW_BEHIND = 10
const SHARE_BEHIND = 10

/** Whether webhooks are sent. An endpoint that fails is its owner's fault to mend, and no fault of this component. */
export function dispatcherComponent(health: DispatcherHealth, digestProblems: readonly string[]): Component {
  const subscriptions = health.shards.reduce((total, shard) => total + shard.subscriptions, 0)
  const problem = health.problem ?? delayOf(health, subscriptions) ?? digestProblems[0]
  return optionalComponent(
    'dispatcher',
    problem,
    `${subscriptions} subscriptions, log read up to ${health.position}`,
  )
}

/** The reason why webhooks are sent late; undefined if they are not. */
function delayOf(health: DispatcherHealth, subscriptions: number): string | undefined {
  const { position, behindMs, longBehind, unattended, unattendedMs } = health
  if (unattendedMs >= UNATTENDED_MS)
    return `${unattended} subscriptions of this process have not been worked on for ${Math.round(unattendedMs / 1_000)} s`
  if (behindMs > PASS_BEHIND_MS)
    return `the log was read up to ${position}, and its end has been further on for ${Math.round(behindMs / 1_000)} s`
  if (longBehind > Math.max(FEW_BEHIND, subscriptions / SHARE_BEHIND))
    return `${longBehind} of ${subscriptions} active endpoints have been behind the end of the log for more than a minute`
  return undefined
}
