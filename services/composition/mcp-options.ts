import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { reasonOf, ServiceError } from '../../contracts/errors.ts'
import { type McpServerOptions } from '../mcp/mcp-server.ts'
import { requestGuard } from '../mcp/request-guard.ts'
import type { Settings } from '../runtime/config/settings.ts'
import type { KnowledgeService } from '../tool-calls/index.ts'
import type { Callers } from './roles/callers.ts'

/** What the MCP edge stands on. */
export async function mcpOptions(
  settings: Settings,
  {
    accounts,
    calls,
    knowledge,
    history,
    paid,
  }: Pick<Callers, 'accounts' | 'calls'> & {
    readonly knowledge: KnowledgeService
    readonly history: McpServerOptions['history']
    readonly paid: McpServerOptions['paid']
  },
  deriveSecret: (purpose: string) => Uint8Array,
  sources: McpServerOptions['sources'],
): Promise<Omit<McpServerOptions, 'addressOf'>> {
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
    ...(settings.MCP_CONFORMANCE && { extension: await conformanceTools(deriveSecret('MCP conformance')) }),
  }
}

/** In a checkout only: no image has what tests need. */
const CONFORMANCE = join(import.meta.dirname, '../mcp/testing/conformance/conformance-pack.ts')

/** @throws ServiceError `config_invalid` where this is no checkout */
async function conformanceTools(stateKey: Uint8Array): Promise<NonNullable<McpServerOptions['extension']>> {
  try {
    const { conformancePack } = await import(pathToFileURL(CONFORMANCE).href)
    return conformancePack(stateKey)
  } catch (error) {
    throw new ServiceError('config_invalid', {
      message: `MCP_CONFORMANCE is for a checkout of the source; what it adds is not here: ${reasonOf(error)}`,
    })
  }
}
