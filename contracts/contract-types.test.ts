import { describe, expectTypeOf, test } from 'vitest'
import {
  createSignalClient,
  type SignalClient,
  SignalRefusal,
  type Tools,
  type verifyWebhook,
  type Webhook,
} from '../clients/typescript/src/index.ts'
import type { VerdictRow } from './answers/verdict-row.ts'
import type { Timeframe } from './domain/timeframes.ts'
import type { Call } from './domain/verdict.ts'
import { type ErrorCode, isServiceError, ServiceError } from './errors/errors.ts'
import {
  type decodeEvent,
  type EventType,
  type FactOf,
  type ServiceEvent,
  VerdictRecorded,
} from './events/event-catalogue.ts'
import type { EventOf } from './events/event-definition.ts'
import type { RecordedEvent } from './infra/event.ts'
import { isToolName, type ToolName, type ToolRequest, type ToolResponse } from './tools/tool-catalogue.ts'

// The type check of `npm run check` decides; nothing of this does anything when it runs.

describe('types of tools', () => {
  test('a name is one of four, and a text is narrowed to it', () => {
    expectTypeOf<ToolName>().toEqualTypeOf<
      'get_trade_call' | 'get_market_regime' | 'scan_trade_calls' | 'scan_funding_arb'
    >()
    expectTypeOf(isToolName).guards.toEqualTypeOf<ToolName>()
  })

  test('a request has its defaults filled in, and the answer is of the tool that was asked', () => {
    expectTypeOf<ToolRequest<'get_trade_call'>['timeframe']>().toBeString()
    expectTypeOf<ToolRequest<'get_trade_call'>['coin']>().toBeString()
    expectTypeOf<ToolResponse<'get_trade_call'>['call']>().toEqualTypeOf<'BUY' | 'SELL' | 'HOLD'>()
    expectTypeOf<ToolResponse<'get_trade_call'>['confidence']>().toBeNumber()
    expectTypeOf<ToolResponse<'scan_trade_calls'>['calls']>().items.toHaveProperty('strength')
    expectTypeOf<ToolResponse<'get_market_regime'>>().not.toHaveProperty('calls')
  })

  test('a row of a replay says of an outcome that is not known that it is null', () => {
    expectTypeOf<VerdictRow['verdict_id']>().toBeString()
    expectTypeOf<null>().toExtend<VerdictRow['decided_at']>()
    expectTypeOf<VerdictRow['call']>().toEqualTypeOf<Call>()
  })
})

describe('types of errors', () => {
  test('a code is one of the registry', () => {
    expectTypeOf<'unauthorized'>().toExtend<ErrorCode>()
    expectTypeOf<'no_such_code'>().not.toExtend<ErrorCode>()
    expectTypeOf<string>().not.toExtend<ErrorCode>()
  })

  test('an error is made of a code, and told from any other', () => {
    expectTypeOf(ServiceError).constructorParameters.toHaveProperty(0)
    expectTypeOf<ConstructorParameters<typeof ServiceError>[0]>().toEqualTypeOf<ErrorCode>()
    expectTypeOf<ServiceError['code']>().toEqualTypeOf<ErrorCode>()
    expectTypeOf(isServiceError).guards.toEqualTypeOf<ServiceError>()
  })
})

describe('types of events', () => {
  test('an event that is read is one of the catalogue, by its type', () => {
    expectTypeOf<typeof decodeEvent>().parameter(0).toEqualTypeOf<RecordedEvent>()
    expectTypeOf<typeof decodeEvent>().returns.toEqualTypeOf<ServiceEvent>()
    expectTypeOf<ServiceEvent['type']>().toEqualTypeOf<EventType>()
    expectTypeOf<Extract<ServiceEvent, { type: 'VerdictRecorded' }>>().toEqualTypeOf<
      EventOf<typeof VerdictRecorded>
    >()
  })

  test('a fact has the data of its type', () => {
    expectTypeOf<FactOf<'VerdictRecorded'>['type']>().toEqualTypeOf<'VerdictRecorded'>()
    expectTypeOf<FactOf<'VerdictRecorded'>['data']>().toHaveProperty('factors')
    expectTypeOf<FactOf<'OutcomeLabelled'>['data']>().not.toHaveProperty('factors')
    expectTypeOf<(typeof VerdictRecorded)['type']>().toEqualTypeOf<'VerdictRecorded'>()
  })
})

describe('types of the TypeScript client', () => {
  test('it has each tool of the service, by the name and by a method', () => {
    expectTypeOf<ToolName>().toExtend<keyof Tools>()
    expectTypeOf<SignalClient['getTradeCall']>().returns.resolves.toEqualTypeOf<
      Tools['get_trade_call']['answer']
    >()
    expectTypeOf<SignalClient['scanFundingArb']>()
      .parameter(0)
      .toEqualTypeOf<Tools['scan_funding_arb']['request'] | undefined>()
    expectTypeOf(createSignalClient).returns.toEqualTypeOf<SignalClient>()
    expectTypeOf(createSignalClient).parameter(0).toHaveProperty('url')
  })

  test('it takes what the service takes', () => {
    expectTypeOf<{ coin: string }>().toExtend<Tools['get_trade_call']['request']>()
    expectTypeOf<{ coin: number }>().not.toExtend<Tools['get_trade_call']['request']>()
    expectTypeOf<Tools['get_trade_call']['request']['timeframe']>().toEqualTypeOf<Timeframe | undefined>()
  })

  test('replays and the live tail are iterated, and what they refuse has a code', () => {
    expectTypeOf<SignalClient['replay']>().returns.toExtend<AsyncGenerator<{ readonly verdict_id: string }>>()
    expectTypeOf<SignalClient['follow']>().returns.toEqualTypeOf<ReturnType<SignalClient['replay']>>()
    expectTypeOf(SignalRefusal).instance.toExtend<Error>()
    expectTypeOf<SignalRefusal['code']>().toBeString()
  })

  test('a delivery is known once it is verified; its data is read with care', () => {
    expectTypeOf<typeof verifyWebhook>().returns.resolves.toEqualTypeOf<Webhook>()
    expectTypeOf<Webhook['data'][string]>().toBeUnknown()
    expectTypeOf<Webhook['sequence']>().toEqualTypeOf<number | undefined>()
  })
})
