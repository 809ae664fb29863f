import { graphql } from '../graphql.ts'

export const projectQuery = graphql(`
  query ConsoleProject {
    project {
      id projectId name
      environments { id name roleLimits { role readsOnly maxCredit } }
    }
  }
`)

export const clocksQuery = graphql(`
  query ConsoleClocks {
    project {
      id
      environments { id name clock { now rate aheadSeconds } }
    }
  }
`)

export const findPlayersQuery = graphql(`
  query ConsoleFindPlayers($environment: String!, $search: String!) {
    players(environment: $environment, search: $search, first: 6) {
      nodes { id playerId nickname status }
      pageInfo { hasNextPage }
    }
  }
`)
