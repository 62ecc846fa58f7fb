import type { FastifyInstance } from 'fastify'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Outcome } from '../../../contracts/domain/outcome.ts'
import type { Verdict } from '../../../contracts/domain/verdict.ts'
import type { AppendDone } from '../../log/time-appends.ts'
import type { DispatchMetrics } from '../../webhooks/index.ts'

/** Counts what the parts of a process do; made before them. */
export function createCounters(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const recorded = counter(
    'verdicts_recorded_total',
    'Verdicts appended by this process',
    'exchange',
    'timeframe',
    'call',
  )
  const labelled = counter(
    'outcomes_labelled_total',
    'Outcomes of verdicts appended by this process, by how the race ended',
    'exchange',
    'timeframe',
    'race',
  )
  const failures = counter(
    'append_failures_total',
    'Times that verdicts began to wait for the event store, by error code',
    'code',
  )
  const closed = counter(
    'series_closed_total',
    'Times that a monitored series was closed because of a fault of its own, by error code',
    'exchange',
    'code',
  )
  const mails = counter(
    'sign_in_mails_total',
    'Sign-in mails that were sent, and that were held back by a limit',
    'outcome',
  )
  // Names and buckets of OpenTelemetry's semantic conventions, here and for webhooks.
  const appends = new Histogram({
    name: 'db_client_operation_duration_seconds',
    help: 'Time until an append is durable, by why it failed',
    labelNames: ['db_operation_name', 'error_type'] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
    registers,
  })
  return {
    signInMail: (outcome: 'sent' | 'held') => mails.inc({ outcome }),
    outcomesLabelled(outcomes: readonly Outcome[]) {
      for (const { exchange, timeframe, race } of outcomes) labelled.inc({ exchange, timeframe, race })
    },
    verdictsRecorded(verdicts: readonly Verdict[]) {
      for (const { exchange, timeframe, call } of verdicts) recorded.inc({ exchange, timeframe, call })
    },
    appendTrouble: (code: string) => failures.inc({ code }),
    appended: ({ durationS, error = '' }: Parameters<AppendDone>[0]) =>
      appends.observe({ db_operation_name: 'append', error_type: error }, durationS),
    seriesClosed: (exchange: string, code: string) => closed.inc({ exchange, code }),
    webhooks: countWebhooks(registry),
  }
}

function countWebhooks(registry: Registry): DispatchMetrics {
  const registers = [registry]
  const attempts = new Counter({
    name: 'webhook_attempts_total',
    help: 'Attempts to deliver, by what came of them',
    labelNames: ['result'] as const,
    registers,
  })
  const sending = new Histogram({
    name: 'messaging_client_operation_duration_seconds',
    help: 'Time that attempts to deliver take, by what came of them where they failed',
    labelNames: ['messaging_system', 'messaging_operation_name', 'error_type'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  const latency = new Histogram({
    name: 'webhook_delivery_seconds',
    help: 'From the recording of a signal until a first attempt was accepted',
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600],
    registers,
  })
  return {
    attempt({ result, durationMs, firstAfterMs }) {
      attempts.inc({ result })
      const error = result === 'delivered' ? '' : result
      const labels = { messaging_system: 'webhook', messaging_operation_name: 'send', error_type: error }
      sending.observe(labels, durationMs / 1_000)
      if (firstAfterMs !== undefined) latency.observe(firstAfterMs / 1_000)
    },
  }
}

/** Measures how long each answer takes, by its route. */
export function useMetrics(app: FastifyInstance, registry: Registry): void {
  const duration = new Histogram({
    // Names and buckets of OpenTelemetry's semantic conventions, which are stable for HTTP.
    name: 'http_server_request_duration_seconds',
    help: 'Time from the request to the end of its answer',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    registers: [registry],
  })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? '(none)'
    duration.observe(
      {
        http_request_method: request.method,
        http_route: route,
        http_response_status_code: String(reply.statusCode),
      },
      reply.elapsedTime / 1_000,
    )
    done()
  })
}
