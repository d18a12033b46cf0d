// A certificate authority for tests, and the certificates that it signs for a server on 127.0.0.1 and for a client, created in a folder.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/redis/testing/process.h"

namespace rondo::redis_kit {

class TlsFiles {
 public:
  explicit TlsFiles(std::filesystem::path folder) : folder_(std::move(folder)) {
    const Pair authority =
        make("Rondo test authority", nullptr, {{NID_basic_constraints, "critical,CA:TRUE"}, {NID_key_usage, "keyCertSign"}});
    write("ca", authority);
    write("server", make("localhost", &authority, {{NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1"}}));
    write("client", make("client", &authority, {}));
    // Signed by itself: the others do not trust it.
    write("stranger", make("localhost", nullptr, {{NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1"}}));
  }

  std::string ca_file() const { return file("ca.crt"); }
  std::string server_cert_file() const { return file("server.crt"); }
  std::string server_key_file() const { return file("server.key"); }
  std::string client_cert_file() const { return file("client.crt"); }
  std::string client_key_file() const { return file("client.key"); }
  /// A certificate of an unknown authority, which must be refused.
  std::string stranger_cert_file() const { return file("stranger.crt"); }
  std::string stranger_key_file() const { return file("stranger.key"); }

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const noexcept { X509_free(certificate); }
    void operator()(X509_EXTENSION* extension) const noexcept { X509_EXTENSION_free(extension); }
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  struct Pair {
    std::unique_ptr<EVP_PKEY, Free> key;
    std::unique_ptr<X509, Free> certificate;
  };
  using Extensions = std::vector<std::pair<int, std::string>>;

  /// Makes a key and its certificate, valid from one hour ago until one day from now, signed by 'issuer' or by itself.
  static Pair make(const std::string& name, const Pair* issuer, const Extensions& extensions) {
    static long serial = 1;
    Pair made{std::unique_ptr<EVP_PKEY, Free>{EVP_EC_gen("P-256")}, std::unique_ptr<X509, Free>{X509_new()}};
    X509* const certificate = made.certificate.get();
    const Pair& signer = issuer == nullptr ? made : *issuer;
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 24L * 3600);
    X509_set_pubkey(certificate, made.key.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()),
                               -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(signer.certificate.get()));
    X509V3_CTX context;
    X509V3_set_ctx(&context, signer.certificate.get(), certificate, nullptr, nullptr, 0);
    for (const auto& [kind, value] : extensions) {
      const std::unique_ptr<X509_EXTENSION, Free> extension{X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str())};
      if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) give_up("cannot make a certificate for " + name);
    }
    if (X509_sign(certificate, signer.key.get(), EVP_sha256()) == 0) give_up("cannot sign a certificate for " + name);
    return made;
  }

  void write(const std::string& name, const Pair& pair) const {
    const std::unique_ptr<std::FILE, Free> key{std::fopen(file(name + ".key").c_str(), "w")};
    const std::unique_ptr<std::FILE, Free> certificate{std::fopen(file(name + ".crt").c_str(), "w")};
    if (!key || !certificate || PEM_write_PrivateKey(key.get(), pair.key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
        PEM_write_X509(certificate.get(), pair.certificate.get()) != 1) {
      give_up("cannot write the certificate of " + name);
    }
  }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

}  // namespace rondo::redis_kit
