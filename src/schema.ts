// Contents page of the GraphQL surface: each feature's types and fields.
import './audit/graphql.ts'
import './login/graphql.ts'
import './projects/graphql-keys.ts'
import './login/log/graphql-login-log.ts'
import './login/log/graphql-login-statistics.ts'
import './battlepass/graphql.ts'
import './battlepass/graphql-design.ts'
import './catalogue/graphql.ts'
import './events/graphql.ts'
import './events/graphql-history.ts'
import './events/graphql-types.ts'
import './figures/graphql.ts'
import './figures/graphql-calls.ts'
import './support/graphql.ts'
import './listing/graphql.ts'
import './players/graphql.ts'
import './projects/graphql.ts'
import './providers/graphql.ts'
import './scenario/graphql.ts'
import './scenario/graphql-diff.ts'
import './scenario/graphql-runs.ts'
import './wallet/graphql.ts'
import { lexicographicSortSchema, printSchema } from 'graphql'
import { builder } from './declare/graphql/builder.ts'

export const schema = builder.toSchema()

export const printedSchema = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`
