import { Histogram, type Registry } from 'prom-client'
import type { Json } from '../../contracts/json.ts'

/** Other texts of callers must not make labels. */
const OTHER = '_OTHER'

/**
 * Durations of MCP's operations, by the names of OpenTelemetry: begins a tool call, and returns what ends it.
 *
 * The result takes why the call failed; undefined where it did not.
 */
export type McpTelemetry = (name: Json | undefined) => (error: string | undefined) => void

/** @param options.tools names with a label of their own @param options.monotonic milliseconds */
export function createMcpTelemetry(options: {
  readonly registry: Registry
  readonly tools: ReadonlySet<string>
  readonly monotonic: () => number
}): McpTelemetry {
  const { monotonic, tools } = options
  const duration = new Histogram({
    name: 'mcp_server_operation_duration_seconds',
    help: 'Time that the operations of MCP take, by method, tool, and why they failed',
    labelNames: ['mcp_method_name', 'gen_ai_tool_name', 'error_type'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [options.registry],
  })
  return (name) => {
    const startedAt = monotonic()
    const tool = typeof name === 'string' && tools.has(name) ? name : OTHER
    return (error) => {
      const labels = { mcp_method_name: 'tools/call', gen_ai_tool_name: tool, error_type: error ?? '' }
      duration.observe(labels, (monotonic() - startedAt) / 1_000)
    }
  }
}
