import { graphql } from '../graphql.ts'

export const alertWebhooksQuery = graphql(`
  query ConsoleAlertWebhooks($environment: String!) {
    alertWebhooks(environment: $environment) {
      id alertWebhookId name format host link kinds enabled sentAt failure failingSince
    }
  }
`)

export const createAlertWebhookMutation = graphql(`
  mutation ConsoleCreateAlertWebhook($input: CreateAlertWebhookInput!) {
    createAlertWebhook(input: $input) {
      alertWebhook { id }
      secret
      auditEntry { id }
    }
  }
`)

export const updateAlertWebhookMutation = graphql(`
  mutation ConsoleUpdateAlertWebhook($input: UpdateAlertWebhookInput!) {
    updateAlertWebhook(input: $input) {
      alertWebhook { id name link kinds enabled host sentAt failure failingSince }
      secret
      auditEntry { id }
    }
  }
`)

export const deleteAlertWebhookMutation = graphql(`
  mutation ConsoleDeleteAlertWebhook($input: DeleteAlertWebhookInput!) {
    deleteAlertWebhook(input: $input) {
      auditEntry { id }
    }
  }
`)

export const testAlertWebhookMutation = graphql(`
  mutation ConsoleTestAlertWebhook($input: TestAlertWebhookInput!) {
    testAlertWebhook(input: $input) { hasArrived status error milliseconds }
  }
`)
