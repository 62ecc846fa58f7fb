import { conformancePack, type McpRoutesOptions, requestGuard } from '../api/index.ts'
import type { Settings } from '../platform/config/settings.ts'
import type { KnowledgeService } from '../tool-calls/index.ts'
import type { Callers } from './callers.ts'

/** What the MCP edge stands on. */
export function mcpOptions(
  settings: Settings,
  {
    accounts,
    calls,
    knowledge,
    history,
    paid,
  }: Pick<Callers, 'accounts' | 'calls'> & {
    readonly knowledge: KnowledgeService
    readonly history: McpRoutesOptions['history']
    readonly paid: McpRoutesOptions['paid']
  },
  deriveSecret: (purpose: string) => Uint8Array,
  sources: McpRoutesOptions['sources'],
): Omit<McpRoutesOptions, 'addressOf'> {
  return {
    calls,
    knowledge,
    history,
    paid,
    sources,
    async checkKey(authorization) {
      const { outcome } = await accounts.identify(authorization)
      return outcome === 'UNKNOWN' ? 'unknown' : outcome === 'INDETERMINATE' ? 'unverifiable' : 'ok'
    },
    guard: requestGuard({
      host: settings.HOST,
      publicUrl: settings.PUBLIC_URL,
      origins: settings.ORIGINS ?? [],
    }),
    ...(settings.MCP_CONFORMANCE && { extension: conformancePack(deriveSecret('MCP conformance')) }),
  }
}
