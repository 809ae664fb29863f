import { initGraphQLTada } from 'gql.tada'
import type { introspection } from '../generated/schema.d.ts'

/** Any JSON of an answer. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [member: string]: Json }

/**
 * Makes an operation or a fragment, typed by `schema.graphql`. Operations are only in files named `operations.ts`: the
 * build collects them for services that run only known operations.
 */
export const graphql = initGraphQLTada<{
  introspection: introspection
  disableMasking: true
  scalars: {
    /** A decimal string: a `number` is exact up to 2^53 only. */
    Int64: string
    Count: number
    DateTime: string
    JSON: Json
    /** The object as its text, in which no number is rounded. */
    JSONObject: string
    ID: string
  }
}>()

export type { FragmentOf, ResultOf, VariablesOf } from 'gql.tada'
