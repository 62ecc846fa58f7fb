import { BASE_SEPOLIA, paymentChain } from '../../../contracts/domain/chain.ts'
import { ServiceError } from '../../../contracts/errors/errors.ts'
import { type FlagDefinitions, readFlags } from './read-flags.ts'
import { ROLES, SETTINGS, type SettingName, type Settings } from './settings.ts'

const NAMES = Object.keys(SETTINGS) as SettingName[]

/** Every setting by its flag. */
export const SETTING_DEFINITIONS: FlagDefinitions = Object.fromEntries(
  NAMES.map((name) => [SETTINGS[name].flag, { ...SETTINGS[name], setting: name }]),
)

/**
 * Reads every setting from flags and the environment; a flag wins. Empty variables count as absent. @throws ServiceError
 * `config_invalid` that names the setting, what it was given, and an example.
 */
export function readSettings(args: readonly string[], environment: NodeJS.ProcessEnv): Settings {
  requireDashes(environment)
  const { flags, operands } = readFlags(
    SETTING_DEFINITIONS,
    args,
    environment,
    'All flags: npm start -- --help',
  )
  if (operands.length > 0) {
    throw invalidError(
      `The service takes flags only, not ${JSON.stringify(operands.join(' '))}. For example: npm start -- --speed 60`,
    )
  }
  return settingsOf(flags)
}

/** The settings of flags that were read. @throws ServiceError `config_invalid` where they do not go together */
export const settingsOf = (flags: Readonly<Record<string, unknown>>): Settings =>
  checkTogether(
    Object.fromEntries(NAMES.map((name) => [name, flags[SETTINGS[name].flag]])) as unknown as Settings,
  )

/** Flags before the two dashes are npm's: it keeps them in variables, and hands the service at most their values. */
function requireDashes(environment: NodeJS.ProcessEnv): void {
  const kept = Object.keys(SETTING_DEFINITIONS).find(
    (flag) => environment[`npm_config_${flag.replaceAll('-', '_')}`] !== undefined,
  )
  if (kept === undefined) return
  throw invalidError(
    `npm took --${kept} for itself: flags of the service follow two dashes. For example: npm start -- --${kept} ${SETTING_DEFINITIONS[kept]?.isSwitch === true ? '' : SETTING_DEFINITIONS[kept]?.example}`.trimEnd(),
  )
}

/** Checks that need several settings. */
function checkTogether(settings: Settings): Settings {
  if (settings.MARKET === 'recorded' && settings.MARKET_DATA === undefined) {
    throw invalidError(
      'MARKET is recorded but MARKET_DATA (--data) names no folder. For example: --data ./binance-usdm',
    )
  }
  const { MARKET_FROM: from, MARKET_TO: to } = settings
  if (from !== undefined && to !== undefined && from >= to) {
    throw invalidError(
      'MARKET_FROM (--from) is not before MARKET_TO (--to). For example: --from 2024-01-01 --to 2024-07-01',
    )
  }
  requireFittingPayments(settings)
  if ((settings.LLM_BASE_URL === undefined) !== (settings.LLM_MODEL === undefined)) {
    throw invalidError(
      'LLM_BASE_URL and LLM_MODEL belong together. For example: --llm-base-url https://api.openai.com/v1 --llm-model gpt-5-mini',
    )
  }
  const missing = ROLES.filter((role) => !settings.ROLES.includes(role))
  if (missing.length > 0 && settings.EVENTSTORE_URL === undefined) {
    throw invalidError(
      `ROLES leaves out ${missing.join(', ')}, which needs a store that other processes share. Set EVENTSTORE_URL, or leave ROLES at all`,
    )
  }
  if (settings.EVENTSTORE_URL !== undefined && settings.SEALING_KEY === undefined) {
    throw invalidError(
      `EVENTSTORE_URL names a log that outlives this machine, and SEALING_KEY, without which nobody can open it again, is not set. Set the same one for every process (openssl rand -base64 32) and keep it with the backups; a log that was begun without it has its key in the file ${settings.DATA_DIR}/${settings.MARKET}/sealing.key`,
    )
  }
  requireAddressToSend(settings)
  return settings
}

/** Every webhook says where its verdict is verified: who answers callers knows an address of its own, others have to be told. */
function requireAddressToSend({ ROLES: roles, PUBLIC_URL }: Settings): void {
  if (!roles.includes('dispatcher') || roles.includes('api') || PUBLIC_URL !== undefined) return
  throw invalidError(
    'ROLES has dispatcher and not api, and PUBLIC_URL, the address of the service that webhooks name, is not set. Set it as it is set for the processes that answer callers. For example: https://signals.example.com',
  )
}

const invalidError = (message: string): ServiceError => new ServiceError('config_invalid', { message })

/** Settings that name a chain, or somebody who reaches one. */
const CHAIN_URLS = ['X402_RPC_URL', 'X402_FACILITATOR_URL', 'X402_GATEWAY_URL'] as const

/**
 * Payments that could not be settled, and real money for made-up verdicts, are refused before anything starts. @throws
 * ServiceError `config_invalid`
 */
function requireFittingPayments(settings: Settings): void {
  const isSet = (name: keyof Settings): boolean => settings[name] !== undefined
  const mayBeAnywhere = settings.MARKET === 'live' || paymentChain(settings.X402_NETWORK) === BASE_SEPOLIA
  for (const name of CHAIN_URLS) {
    const url = settings[name]
    if (mayBeAnywhere || url === undefined || url === 'off' || isOnLoopback(url)) continue
    throw invalidError(
      `MARKET is ${settings.MARKET}, and ${name} is not on this machine: real money is not taken for verdicts on a market that is not live. Use --market live, X402_NETWORK=base-sepolia, or a chain on this machine (npm run demo)`,
    )
  }
  const isKnown = paymentChain(settings.X402_NETWORK) !== undefined
  if (isKnown === isSet('X402_ASSET')) {
    throw invalidError(
      isKnown
        ? `X402_ASSET is set, and the token of ${settings.X402_NETWORK} is known. Leave it out`
        : `X402_NETWORK is ${settings.X402_NETWORK}, and X402_ASSET does not name its token. Set it`,
    )
  }
  if (isSet('X402_FACILITATOR_URL') && !isSet('X402_RPC_URL')) {
    throw invalidError(
      'X402_FACILITATOR_URL submits payments, and X402_RPC_URL does not name the node that tells whether they are paid. Set it',
    )
  }
  if (isSet('X402_FACILITATOR_URL') && !isSet('X402_PAY_TO')) {
    throw invalidError(
      'Payments can be settled, and X402_PAY_TO does not say to whom. Set it to your address',
    )
  }
  if (isSet('X402_FACILITATOR_TOKEN') && isSet('X402_CDP_KEY')) {
    throw invalidError(
      'X402_FACILITATOR_TOKEN and X402_CDP_KEY are both for the facilitator. Leave one of them out',
    )
  }
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
const isOnLoopback = (url: string): boolean => LOOPBACK.test(new URL(url).hostname)
